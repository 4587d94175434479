/* Included before an example, it takes all snapshots out of its transactions: what they change is not undone. */
#include <libpmemobj.h>

#undef TX_ADD
#undef TX_ADD_FIELD
#undef TX_SET
#define TX_ADD(object) ((void)0)
#define TX_ADD_FIELD(object, field) ((void)0)
#define TX_SET(object, field, value) ((void)(D_RW(object)->field = (value)))
