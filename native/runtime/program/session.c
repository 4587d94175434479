/* From pc_init to pc_exit: where the channel comes from, who checks, and that nothing is lost at the end. */
#define _GNU_SOURCE
#include "program.h"

#include "../engine/engine.h"
#include "../instrument/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 100 };

struct session session = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_key_t thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t number_in_environment(const char *name, uint32_t otherwise, uint32_t most) {
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*end || number == 0 || number > most) {
        dprintf(2, "powercut: %s=%s is not a number between 1 and %u; using %u [bad-number]\n", name, text,
                most, otherwise);
        return otherwise;
    }
    return (uint32_t)number;
}

static uint32_t power_of_two(uint32_t number) {
    uint32_t power = 16;
    while (power < number)
        power *= 2;
    return power;
}

/* A channel of one's own, with its checker. */
static struct channel *own_channel(const struct pc_options *options) {
    uint32_t buffer = options->buffer ? options->buffer : CHANNEL_BUFFER;
    buffer = number_in_environment("POWERCUT_BUFFER", buffer, CHANNEL_MOST_BUFFER);
    if (buffer > CHANNEL_MOST_BUFFER)
        buffer = CHANNEL_MOST_BUFFER;
    int descriptor = channel_create(power_of_two(buffer));
    struct channel *channel = descriptor < 0 ? NULL : channel_map(descriptor);
    if (channel) {
        const char *model = getenv("POWERCUT_MODEL");
        if (!model || !*model)
            model = options->model ? options->model : "x86";
        snprintf(channel->model, sizeof channel->model, "%s", model);
        uint32_t workers = options->workers ? options->workers : 1;
        channel->workers = number_in_environment("POWERCUT_WORKERS", workers, CHANNEL_MOST_WORKERS);
        if (channel->workers > CHANNEL_MOST_WORKERS)
            channel->workers = CHANNEL_MOST_WORKERS;
        if (!model_of(channel->model)) {
            dprintf(2, "powercut: unknown model '%s'; using x86 [unknown-model]\n", channel->model);
            strcpy(channel->model, "x86");
        }
        if (!start_helper(channel, options->quiet))
            channel = NULL;
    }
    if (!channel)
        dprintf(
            2, "powercut: nothing is checked: cannot allocate memory or start a process: %s [cannot-check]\n",
            strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return channel;
}

/* What the command line has not chosen the program may. */
static void wish_for_model(struct channel *channel, const struct pc_options *options) {
    if (!channel->model[0] && options->model)
        snprintf(channel->model, sizeof channel->model, "%s", options->model);
}

/* The channel of the powercut check that started this program. */
static struct channel *given_channel(const char *path, const struct pc_options *options) {
    int descriptor = above_standard(open(path, O_RDWR | O_CLOEXEC));
    struct channel *channel = descriptor < 0 ? NULL : channel_map(descriptor);
    if (!channel)
        dprintf(2, "powercut: nothing is checked: cannot use the channel %s: %s [cannot-check]\n", path,
                strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    if (channel)
        wish_for_model(channel, options);
    return channel;
}

static void end_thread(void *unused) {
    leave_ring(SITE_UNKNOWN);
}

static void in_child(void) {
    forget_self();
    pthread_mutex_init(&session.lock, NULL);
    objects_in_child();
}

static void end_session(uint32_t site) {
    struct channel *channel = atomic_load(&session.channel);
    if (!channel)
        return;
    leave_ring(site);
    if ((uint32_t)getpid() != session.pid || session.attached)
        return; /* a child leaves the end to its parent; powercut check sees it by itself */
    atomic_store(&channel->closing, 1);
    bell_ring(&channel->wake);
    for (;;) {
        uint32_t answers = bell_look(&channel->answers);
        if (atomic_load(&channel->done) || process_is_gone(atomic_load(&channel->checker)))
            break;
        bell_wait(&channel->answers, answers, PATIENCE_MS);
    }
}

static void at_exit(void) {
    end_session(SITE_UNKNOWN);
}

static void prepare_once(void) {
    pthread_key_create(&thread_end, end_thread);
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    at_quick_exit(at_exit);
}

static void begin_session(struct channel *channel, const struct pc_options *options) {
    session.every_thread = options->every_thread != 0;
    session.number = session.number % 255 + 1; /* 0 is the number of places that were never used */
    atomic_store(&session.channel, channel);
    atomic_fetch_add(&pc_phase, 1);
    watch_session(true);
}

int pc_init_(const struct pc_options *options, struct pc_site *site) {
    static const struct pc_options defaults = PC_OPTIONS_DEFAULT;
    int reason = errno;
    if (is_traced())
        return 0;
    pthread_once(&once, prepare_once);
    options = options ? options : &defaults;
    if (session.automatic) { /* the program says itself what is to be tracked */
        session.automatic = false;
        leave_ring(SITE_UNKNOWN);
        wish_for_model(atomic_load(&session.channel), options);
        begin_session(atomic_load(&session.channel), options);
        return 0;
    }
    if (atomic_load(&session.channel)) {
        complain(KIND_SECOND_INIT, site);
        return 0;
    }
    const char *given = getenv("POWERCUT_CHANNEL");
    session.attached = given && *given;
    struct channel *channel = session.attached ? given_channel(given, options) : own_channel(options);
    if (!channel)
        return -1;
    session.pid = (uint32_t)getpid();
    atomic_fetch_add(&channel->attached, 1);
    begin_session(channel, options);
    errno = reason;
    return 0;
}

int pc_init_automatically_(void) {
    const struct pc_options options = {.every_thread = 1};
    int failed = pc_init_(&options, NULL);
    session.automatic = !failed;
    return failed;
}

void pc_exit_(struct pc_site *site) {
    int reason = errno;
    struct channel *channel = atomic_load(&session.channel);
    if (is_traced()) {
        /* there is nothing to end */
    } else if (!channel) {
        complain(KIND_EXIT_WITHOUT_INIT, site);
    } else {
        end_session(number_of(site));
        watch_session(false);
        session.automatic = false;
        atomic_store(&session.channel,
                     NULL); /* its memory stays readable: another thread may be about to record */
        atomic_fetch_add(&pc_phase, 1);
        if (!session.attached)
            channel_forget(channel);
        objects_forget();
    }
    errno = reason;
}

void pc_thread_init_(void) {
    pthread_once(&once, prepare_once);
    pthread_setspecific(thread_end, &thread_end); /* so that the thread's end is noticed */
}
