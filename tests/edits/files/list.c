#include <stdio.h>
#include <stdlib.h>
#include "list.h"

#define MAX_DEPTH 32
#define SQUARE(x) ((x) * (x))

typedef struct node {
    int value;
    struct node *next;
} node_t;

enum order { ASCENDING, DESCENDING };

static int count = 0;

static node_t *make_node(int value);
int list_sum(const node_t *head);

/* Allocates a node. */
static node_t *make_node(int value)
{
    node_t *node = malloc(sizeof(*node));
    node->value = value;
    node->next = NULL;
    count++;
    return node;
}

node_t *list_push(node_t *head, int value)
{
    node_t *node = make_node(value);
    node->next = head;
    return node;
}

int list_sum(const node_t *head)
{
    int sum = 0;
    while (head) {
        sum += head->value;
        head = head->next;
    }
    return sum;
}

void list_free(node_t *head)
{
    while (head) {
        node_t *next = head->next;
        free(head);
        head = next;
    }
}

int main(int argc, char **argv)
{
    node_t *head = NULL;
    for (int i = 1; i < argc; i++)
        head = list_push(head, atoi(argv[i]));
    printf("%d\n", list_sum(head));
    list_free(head);
    return 0;
}
