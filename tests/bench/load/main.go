// Command load posts one body over HTTPS again and again, over connections that are kept, and tells in JSON what came back.
//
// It writes prepared bytes and reads answers without building a request each time: on a small machine the generator
// takes its time from the server that is measured.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

const patience = 20 * time.Second

// one is what one connection saw.
type one struct {
	statuses map[string]int
	waits    []time.Duration
}

// result is what is printed. Waits of a fixed rate count from the moment at which a request was due.
type result struct {
	Seconds  float64        `json:"seconds"`
	Statuses map[string]int `json:"statuses"` // by status; "error" where the connection broke
	P50      float64        `json:"p50_ms"`
	P99      float64        `json:"p99_ms"`
}

func main() {
	connections := flag.Int("connections", 8, "connections kept open")
	seconds := flag.Float64("seconds", 3, "how long requests are sent")
	rate := flag.Float64("rate", 0, "requests a second over all connections; 0: each connection sends as soon as it may")
	target := flag.String("url", "", "https address to post to")
	wait := flag.Bool("wait", false, "send nothing before a line comes in")
	source := flag.String("body", "", "file to post")
	flag.Parse()
	log.SetFlags(0)
	where, err := url.Parse(*target)
	if err != nil {
		log.Fatal(err)
	}
	body, err := os.ReadFile(*source)
	if err != nil {
		log.Fatal(err)
	}
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, */*\r\n"+
		"User-Agent: kube-apiserver-admission\r\nContent-Length: %d\r\n\r\n", where.RequestURI(), where.Host, len(body))
	request = append(request, body...)
	opened := make([]net.Conn, *connections)
	var opening sync.WaitGroup
	places := make(chan struct{}, 32) // handshakes at once: what comes after them is measured
	for i := range opened {
		places <- struct{}{}
		opening.Go(func() { opened[i] = dial(where.Host); <-places })
	}
	opening.Wait()
	fmt.Println("open") // whoever measures need not count the handshakes
	if *wait {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	found := make([]one, *connections)
	began := time.Now()
	end := began.Add(time.Duration(*seconds * float64(time.Second)))
	var sending sync.WaitGroup
	for i := range opened {
		due := func(int) time.Time { return time.Time{} }
		if *rate > 0 {
			due = func(n int) time.Time {
				return began.Add(time.Duration(float64(n**connections+i) / *rate * float64(time.Second)))
			}
		}
		sending.Go(func() { found[i] = post(opened[i], where.Host, request, due, end) })
	}
	sending.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(summed(found, time.Since(began))); err != nil {
		log.Fatal(err)
	}
}

func dial(host string) net.Conn {
	// The certificate is made for the measurement; who answers is known.
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}, ServerName: "localhost"}
	connection, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", host, config)
	if err != nil {
		return nil
	}
	return connection
}

// post sends until the end, one request at a time; a connection that breaks is opened anew, and counted.
func post(connection net.Conn, host string, request []byte, due func(int) time.Time, end time.Time) one {
	seen := one{statuses: map[string]int{}}
	var answers *bufio.Reader
	for n := 0; time.Now().Before(end); n++ {
		from := due(n)
		if from.After(end) {
			break
		}
		time.Sleep(time.Until(from))
		if from.IsZero() {
			from = time.Now()
		}
		if connection == nil {
			connection, answers = dial(host), nil
		}
		status := "error"
		if connection != nil {
			if answers == nil {
				answers = bufio.NewReader(connection)
			}
			var keep bool
			if status, keep = exchange(connection, answers, request); !keep {
				_ = connection.Close()
				connection = nil
			}
		}
		seen.statuses[status]++
		seen.waits = append(seen.waits, time.Since(from))
	}
	if connection != nil {
		_ = connection.Close()
	}
	return seen
}

func exchange(connection net.Conn, answers *bufio.Reader, request []byte) (status string, keep bool) {
	_ = connection.SetDeadline(time.Now().Add(patience))
	if _, err := connection.Write(request); err != nil {
		return "error", false
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		return "error", false
	}
	if _, err = io.Copy(io.Discard, response.Body); err != nil {
		return "error", false
	}
	return strconv.Itoa(response.StatusCode), !response.Close
}

func summed(found []one, took time.Duration) result {
	whole := result{Seconds: took.Seconds(), Statuses: map[string]int{}}
	var waits []time.Duration
	for _, seen := range found {
		waits = append(waits, seen.waits...)
		for status, count := range seen.statuses {
			whole.Statuses[status] += count
		}
	}
	if len(waits) == 0 {
		return whole
	}
	slices.Sort(waits)
	at := func(share float64) float64 {
		return float64(waits[min(int(share*float64(len(waits))), len(waits)-1)].Microseconds()) / 1e3
	}
	whole.P50, whole.P99 = at(0.50), at(0.99)
	return whole
}
