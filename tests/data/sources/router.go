package router

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"sort"
	"strings"
	"time"
)

type contextKey string

const paramsKey contextKey = "params"

// Handler answers a request and may fail.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Middleware wraps a handler into another one.
type Middleware func(Handler) Handler

// StatusError is an error that knows its HTTP status.
type StatusError struct {
	Status  int
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%d: %s", e.Status, e.Message)
}

// NotFound makes an error of status 404.
func NotFound(format string, args ...any) error {
	return &StatusError{Status: http.StatusNotFound, Message: fmt.Sprintf(format, args...)}
}

type node struct {
	children map[string]*node
	param    *node
	name     string
	handlers map[string]Handler
}

func newNode() *node {
	return &node{children: map[string]*node{}, handlers: map[string]Handler{}}
}

// Router finds the handler of a path such as /users/:id/posts.
type Router struct {
	root       *node
	middleware []Middleware
	logger     *log.Logger
}

// New makes an empty router.
func New(logger *log.Logger) *Router {
	return &Router{root: newNode(), logger: logger}
}

// Use adds a middleware; the one added first runs first.
func (r *Router) Use(middleware ...Middleware) {
	r.middleware = append(r.middleware, middleware...)
}

// Handle registers a handler for a method and a pattern.
func (r *Router) Handle(method, pattern string, handler Handler) {
	current := r.root
	for _, part := range split(pattern) {
		if strings.HasPrefix(part, ":") {
			if current.param == nil {
				current.param = newNode()
				current.param.name = part[1:]
			}
			if current.param.name != part[1:] {
				panic(fmt.Sprintf("router: %s and :%s stand at the same place", part, current.param.name))
			}
			current = current.param
			continue
		}
		child, found := current.children[part]
		if !found {
			child = newNode()
			current.children[part] = child
		}
		current = child
	}
	if _, found := current.handlers[method]; found {
		panic(fmt.Sprintf("router: %s %s is registered twice", method, pattern))
	}
	current.handlers[method] = handler
}

// Get registers a handler for GET.
func (r *Router) Get(pattern string, handler Handler) { r.Handle(http.MethodGet, pattern, handler) }

// Post registers a handler for POST.
func (r *Router) Post(pattern string, handler Handler) { r.Handle(http.MethodPost, pattern, handler) }

func (r *Router) find(path string) (*node, map[string]string) {
	params := map[string]string{}
	current := r.root
	for _, part := range split(path) {
		if child, found := current.children[part]; found {
			current = child
			continue
		}
		if current.param == nil {
			return nil, nil
		}
		current = current.param
		params[current.name] = part
	}
	if len(current.handlers) == 0 {
		return nil, nil
	}
	return current, params
}

// ServeHTTP answers a request.
func (r *Router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	found, params := r.find(request.URL.Path)
	if found == nil {
		r.fail(w, NotFound("there is nothing at %s", request.URL.Path))
		return
	}
	handler, allowed := found.handlers[request.Method]
	if !allowed {
		w.Header().Set("Allow", strings.Join(methods(found), ", "))
		r.fail(w, &StatusError{Status: http.StatusMethodNotAllowed, Message: request.Method + " is not allowed"})
		return
	}
	for i := len(r.middleware) - 1; i >= 0; i-- {
		handler = r.middleware[i](handler)
	}
	request = request.WithContext(context.WithValue(request.Context(), paramsKey, params))
	if err := handler(w, request); err != nil {
		r.fail(w, err)
	}
}

func (r *Router) fail(w http.ResponseWriter, err error) {
	status, message := http.StatusInternalServerError, "internal error"
	if known, ok := err.(*StatusError); ok {
		status, message = known.Status, known.Message
	} else if r.logger != nil {
		r.logger.Printf("unexpected error: %v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}

// Param returns a part of the path by its name.
func Param(r *http.Request, name string) string {
	params, _ := r.Context().Value(paramsKey).(map[string]string)
	return params[name]
}

// Logged writes a line for each request.
func Logged(logger *log.Logger) Middleware {
	return func(next Handler) Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			started := time.Now()
			err := next(w, r)
			logger.Printf("%s %s %s %v", r.Method, r.URL.Path, time.Since(started).Round(time.Millisecond), err)
			return err
		}
	}
}

// Timeout cancels the context of a request after some time.
func Timeout(limit time.Duration) Middleware {
	return func(next Handler) Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			ctx, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			return next(w, r.WithContext(ctx))
		}
	}
}

func methods(found *node) []string {
	names := make([]string, 0, len(found.handlers))
	for name := range found.handlers {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func split(path string) []string {
	trimmed := strings.Trim(path, "/")
	if trimmed == "" {
		return nil
	}
	return strings.Split(trimmed, "/")
}
