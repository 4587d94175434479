/* Mistakes on purpose: one at most is chosen at run time, and asked for by BUG(name) where it is made.
 * Without one the maps are correct. cases.toml tells what each of them is; lines that a finding must name end
 * with HERE and the names of the mistakes. */
#pragma once

#include <stdbool.h>

#define BUGS(B)                                                                                              \
    B(item_not_new)                                                                                          \
    B(item_new_too_small)                                                                                    \
    B(item_value_unflushed)                                                                                  \
    B(item_update_unlogged)                                                                                  \
    B(item_update_partly_logged)                                                                             \
    B(item_update_logged_late)                                                                               \
    B(item_update_logged_twice)                                                                              \
    B(item_flushed_early)                                                                                    \
    B(tx_unfenced)                                                                                           \
    B(tx_flushed_twice)                                                                                      \
    B(ctree_slot_unlogged)                                                                                   \
    B(ctree_slot_logged_late)                                                                                \
    B(ctree_slot_logged_twice)                                                                               \
    B(ctree_count_unlogged)                                                                                  \
    B(ctree_count_after_end)                                                                                 \
    B(ctree_node_not_new)                                                                                    \
    B(ctree_node_unflushed)                                                                                  \
    B(ctree_unlink_unlogged)                                                                                 \
    B(ctree_update_not_ended)                                                                                \
    B(btree_entry_unlogged)                                                                                  \
    B(btree_entry_partly_logged)                                                                             \
    B(btree_split_left_unlogged)                                                                             \
    B(btree_split_left_logged_twice)                                                                         \
    B(btree_split_right_not_new)                                                                             \
    B(btree_rotation_parent_unlogged)                                                                        \
    B(btree_merge_left_unlogged)                                                                             \
    B(btree_root_after_end)                                                                                  \
    B(btree_remove_not_ended)                                                                                \
    B(btree_ended_twice)                                                                                     \
    B(rbtree_parent_unlogged)                                                                                \
    B(rbtree_uncle_unlogged)                                                                                 \
    B(rbtree_rotation_child_unlogged)                                                                        \
    B(rbtree_rotation_logged_twice)                                                                          \
    B(rbtree_replace_unlogged)                                                                               \
    B(rbtree_sentinel_unlogged)                                                                              \
    B(rbtree_sibling_logged_late)                                                                            \
    B(rbtree_link_unflushed)                                                                                 \
    B(rbtree_logged_before_begin)                                                                            \
    B(rbtree_root_color_after_end)                                                                           \
    B(rbtree_insert_not_ended)                                                                               \
    B(hash_head_unlogged)                                                                                    \
    B(hash_head_logged_twice)                                                                                \
    B(hash_count_unlogged)                                                                                   \
    B(hash_count_unfenced)                                                                                   \
    B(hash_split_next_unlogged)                                                                              \
    B(hash_split_head_unlogged)                                                                              \
    B(hash_segment_not_new)                                                                                  \
    B(hash_buckets_logged_late)                                                                              \
    B(hash_unlink_unlogged)                                                                                  \
    B(hash_remove_not_ended)                                                                                 \
    B(atomic_entry_unflushed)                                                                                \
    B(atomic_entry_partly_flushed)                                                                           \
    B(atomic_entry_unfenced)                                                                                 \
    B(atomic_entry_after_link)                                                                               \
    B(atomic_entry_flushed_twice)                                                                            \
    B(atomic_pointer_flushed)                                                                                \
    B(atomic_link_unflushed)                                                                                 \
    B(atomic_link_unfenced)                                                                                  \
    B(atomic_link_overflushed)                                                                               \
    B(atomic_dirty_after_count)                                                                              \
    B(atomic_dirty_unfenced)                                                                                 \
    B(atomic_clean_before_count)                                                                             \
    B(atomic_count_unflushed)                                                                                \
    B(atomic_count_flushed_first)                                                                            \
    B(atomic_clean_unfenced)                                                                                 \
    B(atomic_swap_before_entry)                                                                              \
    B(atomic_unlink_unflushed)

#define BUG_NUMBER(name) BUG_##name,
enum bug { BUG_NONE, BUGS(BUG_NUMBER) BUG_COUNT };

extern enum bug chosen_bug;
#define BUG(name) (chosen_bug == BUG_##name)

bool choose_bug(const char *name); /* false: there is none of that name */
void print_bugs(void);
