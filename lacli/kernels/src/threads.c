/* The thread pool: one piece of work at a time on all threads, barriers and shares inside it. The caller is thread 0.
 *
 * Waiting is the same everywhere: look at a word for a while, then sleep until it changes. The while is bounded, so
 * that an idle program uses no processor. At barriers it also adapts: where threads outnumber the free cores, who
 * keeps looking keeps the others from arriving.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

#define LACLI_COUNTERS 8          /* phases whose shares may be asked for at the same time */
#define LACLI_RUN_SPIN 100000     /* nanoseconds; waking costs a decoding step less than a hundredth */
#define LACLI_LEAST_SPIN 16000    /* at a barrier; less than a thread takes to wake would keep all of them asleep */
#define LACLI_MOST_SPIN 64000

typedef struct {
    lacli_threads *pool;
    pthread_t thread;
    int number;
} lacli_worker;

struct lacli_threads {
    int count;
    lacli_work *work; /* NULL: the threads end */
    void *context;
    lacli_worker *workers; /* [count - 1] */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *scratch;
    size_t scratch_bytes;
    /* Each word that threads write often has a cache line of its own. */
    _Alignas(128) atomic_uint run;     /* counts lacli_run calls */
    _Alignas(128) atomic_int arrived;  /* at the barrier */
    _Alignas(128) atomic_uint passed;  /* counts barriers */
    _Alignas(128) atomic_int sleepers; /* threads that need `changed` */
    _Alignas(128) atomic_int patience; /* nanoseconds to look at a barrier; a mere hint, so that races are harmless */
    _Alignas(128) atomic_ullong counters[LACLI_COUNTERS]; /* (phase + 1) << 32 | numbers handed out */
};

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Look until *word differs from `old`, or for `spin` nanoseconds; whether it differs. */
static int look(atomic_uint *word, unsigned old, int64_t spin)
{
    int64_t end = 0;
    for (unsigned i = 1; atomic_load_explicit(word, memory_order_acquire) == old; i++) {
        pause_briefly();
        if (i % 32)
            continue;
        int64_t now = nanoseconds();
        if (!end)
            end = now + spin;
        if (now >= end)
            return 0;
    }
    return 1;
}

static void sleep_until_changed(lacli_threads *pool, atomic_uint *word, unsigned old)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(word) == old)
        pthread_cond_wait(&pool->changed, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

/* Change *word. Whoever is about to sleep counts itself before its last look, so either it sees the change or is seen
 * here. */
static void change(lacli_threads *pool, atomic_uint *word)
{
    atomic_fetch_add(word, 1);
    if (atomic_load(&pool->sleepers)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_mutex_unlock(&pool->mutex); /* who has looked is in its wait by now */
        pthread_cond_broadcast(&pool->changed);
    }
}

void lacli_barrier(lacli_threads *pool)
{
    unsigned passed = atomic_load_explicit(&pool->passed, memory_order_relaxed);
    if (pool->count == 1)
        return;
    if (atomic_fetch_add(&pool->arrived, 1) + 1 == pool->count) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        change(pool, &pool->passed);
        return;
    }
    int patience = atomic_load_explicit(&pool->patience, memory_order_relaxed), next = LACLI_LEAST_SPIN;
    if (look(&pool->passed, passed, patience))
        next = patience < LACLI_MOST_SPIN / 2 ? patience * 2 : LACLI_MOST_SPIN;
    else
        sleep_until_changed(pool, &pool->passed, passed);
    if (next != patience)
        atomic_store_explicit(&pool->patience, next, memory_order_relaxed);
}

static void *worker_loop(void *argument)
{
    lacli_worker *worker = argument;
    lacli_threads *pool = worker->pool;
    fesetenv(FE_DFL_ENV);
    for (unsigned run = 0;; run++) {
        if (!look(&pool->run, run, LACLI_RUN_SPIN))
            sleep_until_changed(pool, &pool->run, run);
        if (!pool->work)
            return NULL;
        pool->work(pool->context, worker->number, pool);
        lacli_barrier(pool);
    }
}

/* A library compiled with -ffast-math may have made its caller flush small numbers to zero: bits would depend on which
 * thread computes. */
void lacli_run(lacli_threads *pool, lacli_work *work, void *context)
{
    fenv_t before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    for (int i = 0; i < LACLI_COUNTERS; i++)
        atomic_store_explicit(&pool->counters[i], 0, memory_order_relaxed);
    pool->work = work;
    pool->context = context;
    if (pool->count > 1)
        change(pool, &pool->run);
    work(context, 0, pool);
    lacli_barrier(pool);
    fesetenv(&before);
}

int lacli_threads_count(const lacli_threads *pool)
{
    return pool->count;
}

/* A phase whose counter serves a later one already has no numbers left: who went on had seen its end. */
int32_t lacli_next(lacli_threads *pool, int32_t phase)
{
    atomic_ullong *counter = &pool->counters[phase % LACLI_COUNTERS];
    unsigned long long tag = (unsigned long long)phase + 1, seen = atomic_load_explicit(counter, memory_order_relaxed);
    for (;;) {
        if (seen >> 32 > tag)
            return INT32_MAX;
        unsigned long long next = seen >> 32 == tag ? seen : tag << 32;
        if (atomic_compare_exchange_weak_explicit(counter, &seen, next + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return (int32_t)(next & INT32_MAX);
    }
}

void *lacli_scratch(lacli_threads *pool, size_t bytes)
{
    if (bytes > pool->scratch_bytes) {
        void *grown = NULL;
        if (posix_memalign(&grown, 64, bytes))
            return NULL;
        free(pool->scratch);
        pool->scratch = grown;
        pool->scratch_bytes = bytes;
    }
    return pool->scratch;
}

/* Signals are for the threads of the program itself. */
static int start_worker(lacli_worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, worker_loop, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void end_workers(lacli_threads *pool, int started)
{
    pool->work = NULL;
    change(pool, &pool->run);
    for (int i = 0; i < started; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

lacli_threads *lacli_threads_new(int threads)
{
    void *memory = NULL;
    int count = threads < 1 ? 1 : threads;
    if (posix_memalign(&memory, 128, sizeof(lacli_threads)))
        return NULL;
    lacli_threads *pool = memory;
    *pool = (lacli_threads){.count = count, .patience = LACLI_MOST_SPIN};
    pool->workers = calloc((size_t)count, sizeof *pool->workers);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
    int started = 0;
    for (; pool->workers && started < count - 1; started++) {
        pool->workers[started] = (lacli_worker){.pool = pool, .number = started + 1};
        if (start_worker(&pool->workers[started]))
            break;
    }
    if (started < count - 1 || !pool->workers) {
        end_workers(pool, started);
        pool->count = 1;
        lacli_threads_free(pool);
        return NULL;
    }
    return pool;
}

void lacli_threads_free(lacli_threads *pool)
{
    if (!pool)
        return;
    if (pool->count > 1)
        end_workers(pool, pool->count - 1);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool->scratch);
    free(pool);
}
