/* Moves in the cache: the slots of an accepted path close up behind the past. */
#include "step.h"

/* One layer and head; `bytes` of a number. Keys of a slot lie 16 numbers apart. */
static void move_slot(char *keys, char *values, int32_t bytes, int32_t head_dim, int32_t from, int32_t to)
{
    char *source = keys + ((int64_t)(from / 16) * 16 * head_dim + from % 16) * bytes;
    char *target = keys + ((int64_t)(to / 16) * 16 * head_dim + to % 16) * bytes;
    if (bytes == 2)
        for (int32_t d = 0; d < head_dim; d++)
            memcpy(target + (int64_t)d * 32, source + (int64_t)d * 32, 2);
    else
        for (int32_t d = 0; d < head_dim; d++)
            memcpy(target + (int64_t)d * 64, source + (int64_t)d * 64, 4);
    memcpy(values + (int64_t)to * head_dim * bytes, values + (int64_t)from * head_dim * bytes,
           (size_t)head_dim * (size_t)bytes);
}

int lacli_keep(const lacli_model *model, const lacli_cache *cache, int32_t length, int32_t count, const int32_t *path)
{
    int error = lacli_keep_check(model, cache, length, count, path);
    if (error)
        return error;
    int32_t bytes = cache->kind == LACLI_F16 ? 2 : 4, head_dim = model->head_dim;
    int64_t one = (int64_t)cache->capacity * head_dim * bytes;
    for (int64_t head = 0; head < (int64_t)model->layers * model->kv_heads; head++)
        for (int32_t i = 0; i < count; i++)
            if (path[i] != i)
                move_slot((char *)cache->keys + head * one, (char *)cache->values + head * one, bytes, head_dim,
                          length + path[i], length + i);
    return 0;
}
