/* What the two halves of the tables' code share. */
#pragma once

enum { TABLE_FOOTER = 8 + 4 + 8 + 8 + 8 + 4, PART_CHECKSUM = 4 };

#define TABLE_MAGIC 0x316c624165726f74u /* "toreAbl1" */
