// Command celoracle answers CEL expressions with the API server's own code: its environment, its libraries, its cost limits.
//
// It reads one JSON request a line from standard input and writes one JSON reply a line, in order. Tests compare
// webhook/cel with it; nothing of the product needs it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"k8s.io/klog/v2"
)

// request is one expression with everything it is evaluated with.
type request struct {
	ID      json.RawMessage            `json:"id,omitempty"`
	Expr    string                     `json:"expr"`
	Vars    map[string]json.RawMessage `json:"vars,omitempty"`    // tagged JSON; standard variables left out are null
	Types   map[string]string          `json:"types,omitempty"`   // declared types; dyn where absent
	Mode    string                     `json:"mode,omitempty"`    // dyn (default), vap or map
	Env     string                     `json:"env,omitempty"`     // stored (default) or new
	NoCheck bool                       `json:"nocheck,omitempty"` // parse only
	Authz   []rule                     `json:"authz,omitempty"`
	Bench   int                        `json:"bench,omitempty"` // also time that many evaluations
}

// reply is a result, or the stage that failed and why.
type reply struct {
	ID      json.RawMessage `json:"id,omitempty"`
	OK      bool            `json:"ok"`
	Result  any             `json:"result"`
	OutType string          `json:"out_type,omitempty"` // static type
	Cost    *uint64         `json:"cost,omitempty"`
	Stage   string          `json:"stage,omitempty"` // request, env, vars, compile, program or eval
	Error   string          `json:"error,omitempty"`
	Bench   *timings        `json:"bench,omitempty"`
}

func (r reply) failed(stage string, err error) reply {
	r.Stage, r.Error = stage, err.Error()
	return r
}

// answer turns a panic of the code under it into a reply, so that one expression cannot end a comparison.
func answer(line []byte) (out reply) {
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		return out.failed("request", err)
	}
	stage := "env"
	defer func() {
		if p := recover(); p != nil {
			out = reply{ID: req.ID}.failed(stage, fmt.Errorf("panic: %v", p))
		}
	}()
	return evaluate(&req, &stage)
}

func serve(in *bufio.Reader, out *bufio.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			if failure := encoder.Encode(answer(line)); failure != nil {
				return failure
			}
			if in.Buffered() == 0 {
				if failure := out.Flush(); failure != nil {
					return failure
				}
			}
		}
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func main() {
	klog.SetLogger(klog.Logger{}) // what the libraries would log is in the replies
	runtime.GOMAXPROCS(2)
	if err := serve(bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
