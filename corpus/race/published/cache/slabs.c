/* Pages, pieces, and the lists of each slab.
 *
 * Invariants:
 *   - A page is in the list of its slab, durably, before a piece of it is in use.
 *   - The lists of items and of free pieces are made anew by a recovery, so nobody makes them durable.
 *   - Who holds the lock of a slab waits for no other lock: chains are locked before classes. */
#include "cache.h"

static const uint64_t piece_size[SLABS] = {192, 256, 384, 512};

/* What a start makes anew */
static uint64_t carved[SLABS]; /* pieces of the newest page that were in use at least once */
static uint64_t free_pieces[SLABS], first[SLABS], last[SLABS];
static bool page_is_used[PAGES];
static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t room_of(uint64_t slab) {
    return piece_size[slab] - sizeof(struct item);
}

uint64_t slab_for(uint64_t bytes) {
    uint64_t slab = 0;
    while (slab < SLABS && room_of(slab) < bytes)
        slab++;
    return slab;
}

static uint64_t pieces_of_page(uint64_t slab) {
    return (PAGE - sizeof(struct page)) / piece_size[slab];
}

static struct item *piece_of(struct page *page, uint64_t slab, uint64_t number) {
    return (struct item *)((char *)page + sizeof *page + number * piece_size[slab]);
}

void set_state(struct item *item, uint64_t state) {
    store(&item->state, state); // EFFECT link page
    persist(&item->state, sizeof item->state);
}

/* Locks */

static void take_slab(uint64_t slab) {
    uint64_t seen = 0;
    while (!exchange(&pool->slab[slab].lock, &seen, 1)) { // LOCK
        seen = 0;
        sched_yield();
    }
}

static void release_slab(uint64_t slab) {
    store(&pool->slab[slab].lock, 0);
}

/* The list of items: under the lock of the slab */

static void put_in_front(uint64_t slab, struct item *item) {
    store(&item->previous, 0);       // EFFECT link page
    store(&item->next, first[slab]); // EFFECT link page
    if (first[slab])
        store(&((struct item *)at(first[slab]))->previous, offset_of(item)); // EFFECT link page
    else
        last[slab] = offset_of(item);
    first[slab] = offset_of(item);
}

static void take_out(uint64_t slab, struct item *item) {
    uint64_t next = load(&item->next), previous = load(&item->previous);
    if (next)
        store(&((struct item *)at(next))->previous, previous); // EFFECT link page
    else
        last[slab] = previous;
    if (previous)
        store(&((struct item *)at(previous))->next, next); // EFFECT link page
    else
        first[slab] = next;
}

void used_last(uint64_t slab, struct item *item, bool is_new) {
    take_slab(slab);
    if (!is_new)
        take_out(slab, item);
    put_in_front(slab, item);
    release_slab(slab);
}

/* Pieces: under the lock of the slab */

static void make_free(uint64_t slab, struct item *item) {
    store(&item->next, free_pieces[slab]); // EFFECT link page
    store(&item->previous, 0);             // EFFECT link page
    free_pieces[slab] = offset_of(item);
}

static struct item *free_piece(uint64_t slab) {
    struct item *item = free_pieces[slab] ? at(free_pieces[slab]) : NULL;
    if (item)
        free_pieces[slab] = load(&item->next);
    return item;
}

/* The next piece of the newest page, if it has any that was never used. */
static struct item *carve(uint64_t slab) {
    uint64_t newest = load(&pool->slab[slab].newest); // READ page
    if (!newest || carved[slab] == pieces_of_page(slab))
        return NULL;
    return piece_of(at(newest), slab, carved[slab]++);
}

static struct page *unused_page(void) {
    struct page *found = NULL;
    pthread_mutex_lock(&pages_lock);
    for (int i = 0; i < PAGES && !found; i++)
        if (!page_is_used[i]) {
            page_is_used[i] = true;
            found = (struct page *)pool->page[i];
        }
    pthread_mutex_unlock(&pages_lock);
    return found;
}

/* The slab gets a page, if there is one. */
static void grow(uint64_t slab) {
    uint64_t *newest = &pool->slab[slab].newest;
    struct page *page = unused_page();
    if (!page)
        return;
    page->slab = slab;
    page->older = load(newest); // EFFECT page
    persist(page, sizeof *page);
    store(newest, offset_of(page)); // WRITE page
    carved[slab] = 0;
    if (seeded("page")) {
        release_slab(slab); /* others need not wait for memory */
        persist(newest, sizeof *newest);
        take_slab(slab);
    }
    persist(newest, sizeof *newest);
}

/* Take the piece of the item that nobody has used for the longest time. */
static struct item *give_up_oldest(uint64_t slab) {
    for (uint64_t item = last[slab]; item; item = load(&((struct item *)at(item))->previous))
        if (give_up_item(at(item))) {
            take_out(slab, at(item));
            return at(item);
        }
    return NULL;
}

struct item *take_piece(uint64_t slab) {
    take_slab(slab);
    struct item *item = free_piece(slab);
    if (!item)
        item = carve(slab);
    if (!item) {
        grow(slab);
        item = carve(slab);
    }
    if (!item)
        item = give_up_oldest(slab);
    release_slab(slab);
    return item;
}

void give_piece(uint64_t slab, struct item *item) {
    set_state(item, FREE);
    take_slab(slab);
    take_out(slab, item);
    make_free(slab, item);
    release_slab(slab);
}

/* After a power cut */

static bool is_listed[PAGES]; /* pages to which the lists lead */

static uint64_t number_of_page(uint64_t offset) {
    return (offset - offsetof(struct pool, page)) / PAGE;
}

static void check_page(uint64_t slab, uint64_t offset) {
    if (offset < offsetof(struct pool, page) || offset >= sizeof(struct pool) || offset % PAGE)
        refuse("the list of slab %lu leads to %lu, where no page is", slab, offset);
    if (((struct page *)at(offset))->slab != slab || is_listed[number_of_page(offset)])
        refuse("the list of slab %lu leads to the page of another, or goes round in a circle", slab);
    is_listed[number_of_page(offset)] = true;
}

void check_pages(void) {
    for (uint64_t slab = 0; slab < SLABS; slab++)
        for (uint64_t page = pool->slab[slab].newest; page; page = ((struct page *)at(page))->older)
            check_page(slab, page);
}

void each_piece(void (*visit)(uint64_t slab, struct item *item)) {
    for (uint64_t slab = 0; slab < SLABS; slab++)
        for (uint64_t page = pool->slab[slab].newest; page; page = ((struct page *)at(page))->older)
            for (uint64_t i = 0; i < pieces_of_page(slab); i++)
                visit(slab, piece_of(at(page), slab, i));
}

bool is_piece(uint64_t offset) {
    if (offset < offsetof(struct pool, page) || offset >= sizeof(struct pool))
        return false;
    uint64_t page = number_of_page(offset), within = offset % PAGE - sizeof(struct page);
    if (!is_listed[page] || offset % PAGE < sizeof(struct page))
        return false;
    uint64_t slab = ((struct page *)pool->page[page])->slab;
    return within % piece_size[slab] == 0 && within / piece_size[slab] < pieces_of_page(slab);
}

void recover_pages(void) {
    memcpy(page_is_used, is_listed, sizeof page_is_used);
    for (uint64_t slab = 0; slab < SLABS; slab++) {
        carved[slab] = pieces_of_page(slab);
        if (!seeded("locks-kept"))
            store(&pool->slab[slab].lock, 0);
        persist(&pool->slab[slab].lock, sizeof pool->slab[slab].lock);
    }
}

void recover_piece(uint64_t slab, struct item *item, bool linked) {
    set_state(item, linked ? LINKED : FREE);
    if (linked)
        put_in_front(slab, item);
    else
        make_free(slab, item);
}

void check_slabs(void) {
    for (uint64_t slab = 0; slab < SLABS; slab++)
        if (pool->slab[slab].lock)
            refuse("slab %lu is locked, and nobody is there to unlock it", slab);
}
