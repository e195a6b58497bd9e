// Package workerpool runs tasks on a fixed number of goroutines and collects what they return.
package workerpool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed says that a pool takes no more tasks.
var ErrClosed = errors.New("workerpool: closed")

// Task is one piece of work.
type Task[T any] func(ctx context.Context) (T, error)

// Result is what a task came to.
type Result[T any] struct {
	Index    int
	Value    T
	Err      error
	Duration time.Duration
}

type job[T any] struct {
	index int
	task  Task[T]
}

// Pool is a number of goroutines that wait for tasks.
type Pool[T any] struct {
	jobs    chan job[T]
	results chan Result[T]
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	closed  atomic.Bool
	next    atomic.Int64
	timeout time.Duration
}

// New starts a pool. A timeout of 0 gives every task as long as it wants.
func New[T any](ctx context.Context, workers int, timeout time.Duration) (*Pool[T], error) {
	if workers < 1 {
		return nil, fmt.Errorf("workerpool: %d workers are too few", workers)
	}
	ctx, cancel := context.WithCancel(ctx)
	pool := &Pool[T]{
		jobs:    make(chan job[T], workers),
		results: make(chan Result[T], workers),
		ctx:     ctx,
		cancel:  cancel,
		timeout: timeout,
	}
	pool.wg.Add(workers)
	for i := 0; i < workers; i++ {
		go pool.work()
	}
	go func() {
		pool.wg.Wait()
		close(pool.results)
	}()
	return pool, nil
}

// Submit hands over a task; it waits where all workers are busy and the queue is full.
func (p *Pool[T]) Submit(task Task[T]) (int, error) {
	if p.closed.Load() {
		return 0, ErrClosed
	}
	index := int(p.next.Add(1)) - 1
	select {
	case p.jobs <- job[T]{index: index, task: task}:
		return index, nil
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
}

// Close says that no more tasks come; those handed over are still done.
func (p *Pool[T]) Close() {
	if p.closed.CompareAndSwap(false, true) {
		close(p.jobs)
	}
}

// Stop ends all tasks as soon as they look at their context.
func (p *Pool[T]) Stop() {
	p.cancel()
	p.Close()
}

// Results delivers what tasks return, in the order they end.
func (p *Pool[T]) Results() <-chan Result[T] {
	return p.results
}

func (p *Pool[T]) work() {
	defer p.wg.Done()
	for job := range p.jobs {
		result := p.run(job)
		select {
		case p.results <- result:
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *Pool[T]) run(job job[T]) (result Result[T]) {
	started := time.Now()
	result.Index = job.index
	defer func() {
		if reason := recover(); reason != nil {
			result.Err = fmt.Errorf("workerpool: task %d panicked: %v", job.index, reason)
		}
		result.Duration = time.Since(started)
	}()
	ctx := p.ctx
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	result.Value, result.Err = job.task(ctx)
	return result
}

// Map applies a function to all inputs and returns the outputs in their order, or the first error.
func Map[In, Out any](ctx context.Context, workers int, inputs []In, apply func(context.Context, In) (Out, error)) ([]Out, error) {
	pool, err := New[Out](ctx, workers, 0)
	if err != nil {
		return nil, err
	}
	go func() {
		defer pool.Close()
		for _, input := range inputs {
			input := input
			_, err := pool.Submit(func(ctx context.Context) (Out, error) {
				return apply(ctx, input)
			})
			if err != nil {
				return
			}
		}
	}()
	outputs := make([]Out, len(inputs))
	var first error
	for result := range pool.Results() {
		if result.Err != nil && first == nil {
			first = fmt.Errorf("input %d: %w", result.Index, result.Err)
			pool.cancel()
		}
		outputs[result.Index] = result.Value
	}
	if first != nil {
		return nil, first
	}
	return outputs, ctx.Err()
}

// Summary is what a number of results come to together.
type Summary struct {
	Count   int
	Failed  int
	Total   time.Duration
	Longest time.Duration
}

// Summarise adds up results until there are no more.
func Summarise[T any](results <-chan Result[T]) Summary {
	var summary Summary
	for result := range results {
		summary.Count++
		if result.Err != nil {
			summary.Failed++
		}
		summary.Total += result.Duration
		if result.Duration > summary.Longest {
			summary.Longest = result.Duration
		}
	}
	return summary
}

func (s Summary) String() string {
	if s.Count == 0 {
		return "no tasks"
	}
	mean := s.Total / time.Duration(s.Count)
	return fmt.Sprintf("%d tasks, %d failed, mean %s, longest %s", s.Count, s.Failed, mean, s.Longest)
}
