// Command diffstat reads a unified diff and prints how much each file changes.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

type fileStat struct {
	path    string
	added   int
	removed int
	binary  bool
}

func (s fileStat) total() int {
	return s.added + s.removed
}

type parser struct {
	stats   []*fileStat
	current *fileStat
	left    int // lines of the present hunk still to come
	right   int
}

func (p *parser) open(path string) {
	p.current = &fileStat{path: path}
	p.stats = append(p.stats, p.current)
}

func (p *parser) line(text string) error {
	if p.left > 0 || p.right > 0 {
		return p.hunkLine(text)
	}
	switch {
	case strings.HasPrefix(text, "--- "):
		p.current = nil
	case strings.HasPrefix(text, "+++ "):
		p.open(cleanPath(strings.TrimPrefix(text, "+++ ")))
	case strings.HasPrefix(text, "@@ "):
		if p.current == nil {
			return fmt.Errorf("a hunk without a file: %q", text)
		}
		left, right, err := parseHunk(text)
		if err != nil {
			return err
		}
		p.left, p.right = left, right
	case strings.HasPrefix(text, "Binary files "):
		fields := strings.Fields(text)
		if len(fields) >= 5 {
			p.open(cleanPath(fields[4]))
			p.current.binary = true
		}
	}
	return nil
}

func (p *parser) hunkLine(text string) error {
	if text == "" {
		text = " "
	}
	switch text[0] {
	case '+':
		p.current.added++
		p.right--
	case '-':
		p.current.removed++
		p.left--
	case ' ':
		p.left--
		p.right--
	case '\\':
		// "No newline at end of file" counts for neither side
	default:
		return fmt.Errorf("unexpected line in a hunk: %q", text)
	}
	return nil
}

func parseHunk(text string) (left, right int, err error) {
	parts := strings.Fields(text)
	if len(parts) < 3 {
		return 0, 0, fmt.Errorf("no hunk header: %q", text)
	}
	if left, err = parseRange(parts[1], '-'); err != nil {
		return 0, 0, err
	}
	if right, err = parseRange(parts[2], '+'); err != nil {
		return 0, 0, err
	}
	return left, right, nil
}

func parseRange(text string, sign byte) (int, error) {
	if text == "" || text[0] != sign {
		return 0, fmt.Errorf("no range: %q", text)
	}
	var start, count int
	if _, err := fmt.Sscanf(text[1:], "%d,%d", &start, &count); err == nil {
		return count, nil
	}
	if _, err := fmt.Sscanf(text[1:], "%d", &start); err != nil {
		return 0, fmt.Errorf("no range: %q", text)
	}
	return 1, nil
}

func cleanPath(path string) string {
	path, _, _ = strings.Cut(path, "\t")
	for _, prefix := range []string{"a/", "b/"} {
		if strings.HasPrefix(path, prefix) {
			return path[len(prefix):]
		}
	}
	return path
}

func parse(reader io.Reader) ([]*fileStat, error) {
	var p parser
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(make([]byte, 64*1024), 16*1024*1024)
	for number := 1; scanner.Scan(); number++ {
		if err := p.line(scanner.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return p.stats, scanner.Err()
}

func bar(stat fileStat, most, width int) string {
	if stat.total() == 0 || most == 0 {
		return ""
	}
	length := stat.total() * width / most
	if length == 0 {
		length = 1
	}
	plus := stat.added * length / stat.total()
	return strings.Repeat("+", plus) + strings.Repeat("-", length-plus)
}

func write(out io.Writer, stats []*fileStat, width int) {
	longest, most, added, removed := 0, 0, 0, 0
	for _, stat := range stats {
		longest = max(longest, len(stat.path))
		most = max(most, stat.total())
		added += stat.added
		removed += stat.removed
	}
	for _, stat := range stats {
		if stat.binary {
			fmt.Fprintf(out, " %-*s | binary\n", longest, stat.path)
			continue
		}
		fmt.Fprintf(out, " %-*s | %4d %s\n", longest, stat.path, stat.total(), bar(*stat, most, width))
	}
	fmt.Fprintf(out, " %d files changed, %d insertions(+), %d deletions(-)\n", len(stats), added, removed)
}

func main() {
	width := flag.Int("width", 40, "columns of the longest bar")
	bySize := flag.Bool("sort", false, "largest change first")
	flag.Parse()
	stats, err := parse(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "diffstat:", err)
		os.Exit(1)
	}
	if *bySize {
		sort.SliceStable(stats, func(i, j int) bool { return stats[i].total() > stats[j].total() })
	}
	write(os.Stdout, stats, *width)
}
