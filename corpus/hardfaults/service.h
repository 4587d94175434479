/* What the services with hard faults share: a pool, a socket with a thread for each client, a self-check.
 *
 *   PROGRAM POOL serve SOCKET   recovers, then answers requests, one line each, until it is ended
 *   PROGRAM POOL check          recovers, checks itself, serves a few requests of its own: 0 if all is well
 */
#ifndef HARDFAULTS_SERVICE_H
#define HARDFAULTS_SERVICE_H

#include <libpmemobj.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER 400 /* bytes of an answer, at most */

struct service {
    const char *name; /* the pool's layout */
    size_t root_bytes;
    void (*recover)(void *root);
    const char *(*check)(void); /* what is wrong; NULL: nothing */
    void (*request)(char *verb, char *key, char *value, char answer[ANSWER]); /* several threads at once */
    const char *probe; /* one more request that must be answered with OK, or NULL */
};

extern PMEMobjpool *pool;

int run_service(int argc, char **argv, const struct service *service);
void persist(const void *address, size_t length);
uint64_t hash_of(const char *key);

#endif
