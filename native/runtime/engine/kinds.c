/* The list of everything that can be found, as a table. */
#include "kinds.h"

#define KIND_ROW(id, name, why, severity, sentence, advice) {name, why, severity, sentence, advice},
const struct kind kinds[KIND_COUNT] = {KINDS(KIND_ROW)};
