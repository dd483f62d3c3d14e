package cmdutil

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress is a progress bar on standard error. It shows nothing if that is not a terminal. It replaces the
// spinner after half a second.
type Progress struct {
	app   *App
	out   *os.File // nil if standard error is not a terminal
	text  string
	total int
	// More returns further text for the end of the bar. If it is nil, the speed is not shown either.
	More func() string

	mu    sync.Mutex
	begun time.Time
	done  int
	all   *mpb.Progress
	bar   *mpb.Bar
}

// Progress begins a bar with a total count. The caller must call Finish in every case.
func (a *App) Progress(text string, total int, quiet bool) *Progress {
	p := &Progress{app: a, text: text, total: total, begun: time.Now()}
	if !quiet {
		p.out = a.Spinner.out
	}
	return p
}

// Add adds n to the count. It is safe for concurrent use.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	switch {
	case p.out == nil:
	case p.bar != nil:
		p.bar.IncrBy(n)
	case time.Since(p.begun) >= patience:
		p.app.Spinner.Stop()
		p.all = mpb.New(mpb.WithOutput(p.out), mpb.WithWidth(40))
		p.bar = p.all.New(int64(p.total), mpb.BarStyle().Lbound("▕").Filler("█").Tip("█").Padding("░").Rbound("▏"),
			mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(p.text+" ")),
			mpb.AppendDecorators(p.about()...))
		p.bar.DecoratorAverageAdjust(p.begun)
		p.bar.IncrBy(p.done)
		p.app.bar.Store(p)
	}
}

// about returns the text after the bar.
func (p *Progress) about() []decor.Decorator {
	all := []decor.Decorator{decor.CountersNoUnit(" %d of %d")}
	if p.More != nil {
		all = append(all, decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf(", %.1f/s%s", float64(s.Current)/time.Since(p.begun).Seconds(), p.More())
		}))
	}
	return append(all, decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), ""))
}

// say writes a line above the bar and reports whether a bar was there.
func (p *Progress) say(line string) bool {
	if p == nil {
		return false
	}
	_, err := io.WriteString(p.all, line)
	return err == nil
}

// Finish removes the bar from the screen.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Abort(true)
		p.all.Wait()
		p.app.bar.Store(nil)
		p.bar, p.out = nil, nil
	}
}
