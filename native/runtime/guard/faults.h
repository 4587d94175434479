#ifndef POWERCUT_GUARD_FAULTS_H
#define POWERCUT_GUARD_FAULTS_H

/* From now on a deadly signal is noted in the file first. A program that has handlers of its own keeps them.
 */
void pc_faults_note(int file);

#endif
