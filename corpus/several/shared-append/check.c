/* What was said or counted is there. */
#include "../several.h"

int main(void) {
    if (said("opened") && !holds("audit", "opened\n"))
        refuse("the audit is gone");
    if (said("ordered") && !holds("orders", "milk\n"))
        refuse("the order is gone");
    if (holds("count", "1\n") && !holds("invoices", "3.50\n"))
        refuse("the invoice is gone");
    return 0;
}
