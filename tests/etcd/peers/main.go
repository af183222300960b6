// Elects with go.etcd.io/etcd/client/v3/concurrency, for the tests and benches of the etcd store.
//
// Each event is a line of JSON on standard output, as tenure-chaos-candidate writes them: "elected"; "led", again and again
// while the session's Done channel is open; "revoked" when it has closed or Resign has returned. The token is the
// key's create revision. SIGTERM resigns and ends the program. With -board it writes the times of its terms there instead, as the
// candidates of tenure-bench do (bench/src/board.hpp).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

var (
	endpoints = flag.String("endpoints", "", "URLs of the members, with commas between")
	ttl       = flag.Int("ttl", 2, "of a session, in seconds")
	name      = flag.String("election", "/peers", "what its keys begin with")
	count     = flag.Int("elections", 1, "so many, each with a session of its own; with more than one no events")
	claim     = flag.Duration("claim", 5*time.Millisecond, "between two claims; 0: none")
	boardFile = flag.String("board", "", "of a bench")
	index     = flag.Int("index", 0, "of the slot on the board")
)

// slot is the Slot of bench/src/board.hpp.
type slot struct {
	pid, competing, elected, revoked, electedAt, token, appliedAt, releasedAt int64
	others                                                                    [5]int64
}

func now() int64 {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &at)
	return at.Nano()
}

func mustNot(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func openSlot() *slot {
	if *boardFile == "" {
		return &slot{}
	}
	file, err := os.OpenFile(*boardFile, os.O_RDWR, 0)
	mustNot(err)
	size := int(unsafe.Sizeof(slot{})) * (*index + 1)
	page, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	mustNot(err)
	return (*slot)(unsafe.Pointer(&page[size-int(unsafe.Sizeof(slot{}))]))
}

func tell(event string, at int64, more string, words ...any) {
	if *count == 1 && *boardFile == "" {
		fmt.Printf(`{"t":%d,"e":"%s"`+more+"}\n", append([]any{at, event}, words...)...)
	}
}

// claims until the session is over or the process shall end, and says which. A claim is true at some instant between "t" and "u".
func claims(session *concurrency.Session, token int64, stop context.Context) (over bool) {
	var next <-chan time.Time
	if *claim > 0 && *count == 1 {
		ticker := time.NewTicker(*claim)
		defer ticker.Stop()
		next = ticker.C
	}
	for {
		before := now()
		select {
		case <-session.Done():
			return true
		default:
			if next != nil {
				tell("led", before, `,"token":%d,"u":%d`, token, now())
			}
		}
		select {
		case <-session.Done():
			return true
		case <-stop.Done():
			return false
		case <-next:
		}
	}
}

// term competes once and leads until the end of the term. It waits as the package's own example does: nothing but a win or an
// error ends Campaign. false: the process shall end.
func term(stop context.Context, client *clientv3.Client, election string, mine *slot) bool {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(*ttl))
	if err != nil {
		tell("error", now(), `,"message":%q`, err.Error())
		time.Sleep(100 * time.Millisecond)
		return stop.Err() == nil
	}
	defer session.Close()
	e := concurrency.NewElection(session, election)
	atomic.StoreInt64(&mine.competing, 1)
	if err := e.Campaign(stop, fmt.Sprint(os.Getpid())); err != nil {
		tell("error", now(), `,"message":%q`, err.Error())
		return stop.Err() == nil
	}
	at := now()
	atomic.StoreInt64(&mine.electedAt, at)
	atomic.StoreInt64(&mine.token, e.Rev())
	atomic.AddInt64(&mine.elected, 1)
	tell("elected", at, `,"token":%d`, e.Rev())
	token := e.Rev()
	why := "session over"
	if !claims(session, token, stop) {
		why = "resigned"
		if err := e.Resign(context.Background()); err != nil {
			why = err.Error()
		}
		atomic.StoreInt64(&mine.releasedAt, now())
	}
	atomic.AddInt64(&mine.revoked, 1)
	tell("revoked", now(), `,"token":%d,"reason":%q`, token, why)
	return stop.Err() == nil
}

func main() {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	flag.Parse()
	stop, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(*endpoints, ","), DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	mustNot(err)
	mine := openSlot()
	atomic.StoreInt64(&mine.pid, int64(os.Getpid()))
	var all sync.WaitGroup
	for i := range *count {
		election := *name
		if *count > 1 {
			election = fmt.Sprintf("%s-%d", *name, i)
		}
		all.Go(func() {
			for term(stop, client, election, mine) {
			}
		})
	}
	all.Wait()
}
