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

// Progress is a bar on the terminal of standard error. Where that is no terminal, it is nothing. It takes the place of the
// spinner once the work takes longer than a person waits without wondering.
type Progress struct {
	app   *App
	out   *os.File // the terminal, or nil
	text  string
	total int
	More  func() string // what else there is to say, beside how quick it is; nil: nothing, and not that either

	mu    sync.Mutex
	begun time.Time
	done  int
	all   *mpb.Progress
	bar   *mpb.Bar
}

// Progress begins a bar for so many things. Whatever it is called with, finish must be called.
func (a *App) Progress(text string, total int, quiet bool) *Progress {
	p := &Progress{app: a, text: text, total: total, begun: time.Now()}
	if !quiet {
		p.out = a.Spinner.out
	}
	return p
}

// Add counts so many as done. It may be called from anywhere.
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
			mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(p.text+" ")), mpb.AppendDecorators(p.about()...))
		p.bar.DecoratorAverageAdjust(p.begun)
		p.bar.IncrBy(p.done)
		p.app.bar.Store(p)
	}
}

// about is the text after the bar.
func (p *Progress) about() []decor.Decorator {
	all := []decor.Decorator{decor.CountersNoUnit(" %d of %d")}
	if p.More != nil {
		all = append(all, decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf(", %.1f/s%s", float64(s.Current)/time.Since(p.begun).Seconds(), p.More())
		}))
	}
	return append(all, decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), ""))
}

// say writes a line above the bar, and reports whether there was one.
func (p *Progress) say(line string) bool {
	if p == nil {
		return false
	}
	_, err := io.WriteString(p.all, line)
	return err == nil
}

// Finish takes the bar off the screen.
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
