// Elects with client-go's LeaderElector on a Lease, for the tests and benches of the Kubernetes store.
//
// Each event is a line of JSON on standard output. All times are nanoseconds of CLOCK_BOOTTIME, as tenure-chaos-candidate
// writes them:
//
//	{"t":..,"e":"held","u":..,"until":..,"version":..,"transitions":..,"token":..}   a write of ours as the holder was applied.
//	    t: before it was sent; u: after its answer. The holder's right ends at until = t + the whole seconds of -lease,
//	    whatever client-go says.
//	    token: the resourceVersion of the term's first write.
//	{"t":..,"e":"elected","token":..}                 OnStartedLeading
//	{"t":..,"e":"led","u":..,"token":..}              with -claim: its context was not done at some instant between t and u
//	{"t":..,"e":"released","u":..,"token":..}         a write that gives the Lease up was applied
//	{"t":..,"e":"revoked","token":..,"reason":..}     OnStoppedLeading after a term
//	{"t":..,"e":"seen","leader":..}                   OnNewLeader
//	{"t":..,"e":"error","message":..}               a request failed
//
// With -believe it never writes to the Lease. It prints what client-go makes of it:
//
//	{"t":..,"e":"read","u":..,"record":{..},"version":..}   the record that client-go compares, when that has changed
//	{"t":..,"e":"would-take","record":{..}}                 client-go would write this now, because it takes nobody for alive
//
// SIGTERM ends it, and gives up the Lease with -release. With -board it writes the times of its terms there instead, as the
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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

var (
	kubeconfig = flag.String("kubeconfig", os.Getenv("TENURE_TEST_KUBERNETES"), "a file")
	access     = flag.String("context", "", "of the file; its own choice if empty")
	server     = flag.String("server", "", "instead of the file's, such as a proxy in front of it")
	namespace  = flag.String("namespace", "tenure-test", "of the Lease")
	name       = flag.String("name", "peers", "of the Lease")
	identity   = flag.String("identity", fmt.Sprintf("client-go-%d", os.Getpid()), "holderIdentity of this candidate")
	lease      = flag.Duration("lease", 15*time.Second, "LeaseDuration; the Lease has whole seconds")
	renew      = flag.Duration("renew", 10*time.Second, "RenewDeadline")
	retry      = flag.Duration("retry", 2*time.Second, "RetryPeriod")
	release    = flag.Bool("release", true, "ReleaseOnCancel")
	believe    = flag.Bool("believe", false, "only print what client-go believes")
	claim      = flag.Duration("claim", 0, "between two claims; 0: none")
	count      = flag.Int("elections", 1, "so many, each on a Lease of its own; with more than one no events")
	boardFile  = flag.String("board", "", "of a bench")
	index      = flag.Int("index", 0, "of the slot on the board")
)

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

var telling sync.Mutex

// tell prints an event, whole lines at a time.
func tell(event string, at int64, more string, words ...any) {
	if *count > 1 || *boardFile != "" {
		return
	}
	telling.Lock()
	defer telling.Unlock()
	fmt.Printf(`{"t":%d,"e":"%s"`+more+"}\n", append([]any{at, event}, words...)...)
}

// client is one as resourcelock.NewFromKubeconfig makes it: no call takes longer than half of RenewDeadline, or a second.
func client() coordination.LeasesGetter {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: *kubeconfig}
	changes := &clientcmd.ConfigOverrides{CurrentContext: *access}
	changes.ClusterInfo.Server = *server
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, changes).ClientConfig()
	mustNot(err)
	config.Timeout = max(*renew/2, time.Second)
	config.QPS = float32(-1) // no limit of the client's own
	config.WarningHandler = rest.NoWarnings{}
	made, err := coordination.NewForConfig(config)
	mustNot(err)
	return made
}

func main() {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	flag.Parse()
	klog.SetLogger(klog.Logger{}) // its lines would tell nothing that the events do not
	stop, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	leases := client()
	mine := openSlot()
	var all sync.WaitGroup
	for i := range *count {
		one := candidate{name: *name, mine: mine}
		if *count > 1 {
			one.name = strings.Join([]string{*name, fmt.Sprint(i)}, "-")
		}
		all.Go(func() { one.compete(stop, leases) })
	}
	all.Wait()
}
