package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	clients "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// candidate competes for one Lease. It sees each request of client-go's, because it stands in for the client.
type candidate struct {
	clients.LeaseInterface
	name string
	mine *slot

	mutex       sync.Mutex
	token       int64 // of the term that lasts; 0: none
	toldOfStart bool
	lastRead    []byte
}

func (c *candidate) Leases(string) clients.LeaseInterface { return c }

// compete elects again and again: Run returns at the end of a term.
func (c *candidate) compete(stop context.Context, leases clients.LeasesGetter) {
	c.LeaseInterface = leases.Leases(*namespace)
	for stop.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  meta.ObjectMeta{Name: c.name, Namespace: *namespace},
				Client:     c,
				LockConfig: resourcelock.ResourceLockConfig{Identity: *identity},
			},
			LeaseDuration: *lease, RenewDeadline: *renew, RetryPeriod: *retry, ReleaseOnCancel: *release, Name: c.name,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: c.started,
				OnStoppedLeading: func() { c.stopped(stop) },
				OnNewLeader:      func(leader string) { tell("seen", now(), `,"leader":%q`, leader) },
			},
		})
		mustNot(err)
		elector.Run(stop)
	}
}

// -- its terms ------------------------------------------------------------------------------------------------------

func (c *candidate) started(term context.Context) {
	c.mutex.Lock()
	at, token := now(), c.token
	c.toldOfStart = token != 0
	c.mutex.Unlock()
	if token == 0 {
		return // it has ended already: OnStartedLeading has a goroutine of its own
	}
	c.mine.electedIn(token, at)
	tell("elected", at, `,"token":%d`, token)
	if *claim == 0 || *count > 1 {
		return
	}
	for {
		before := now()
		if term.Err() != nil {
			return
		}
		tell("led", before, `,"u":%d,"token":%d`, now(), token)
		time.Sleep(*claim)
	}
}

func (c *candidate) stopped(stop context.Context) {
	c.mutex.Lock()
	at, token, told := now(), c.token, c.toldOfStart
	c.token, c.toldOfStart = 0, false
	c.mutex.Unlock()
	if token == 0 {
		return
	}
	why := "lost"
	if stop.Err() != nil {
		why = "ended"
	}
	if told {
		atomic.AddInt64(&c.mine.revoked, 1)
	}
	tell("revoked", at, `,"token":%d,"reason":%q`, token, why)
}

// -- its requests ---------------------------------------------------------------------------------------------------

func (c *candidate) Create(ctx context.Context, made *coordination.Lease, how meta.CreateOptions) (*coordination.Lease, error) {
	if *believe {
		return nil, c.wouldTake(made)
	}
	sent := now()
	got, err := c.LeaseInterface.Create(ctx, made, how)
	c.wrote(sent, got, err)
	return got, err
}

func (c *candidate) Update(ctx context.Context, made *coordination.Lease, how meta.UpdateOptions) (*coordination.Lease, error) {
	if *believe {
		return nil, c.wouldTake(made)
	}
	sent := now()
	got, err := c.LeaseInterface.Update(ctx, made, how)
	c.wrote(sent, got, err)
	return got, err
}

func (c *candidate) Get(ctx context.Context, name string, how meta.GetOptions) (*coordination.Lease, error) {
	sent := now()
	got, err := c.LeaseInterface.Get(ctx, name, how)
	if err == nil || apierrors.IsNotFound(err) {
		atomic.StoreInt64(&c.mine.competing, 1)
	}
	if err != nil {
		tell("error", sent, `,"message":%q`, err.Error())
		return got, err
	}
	if record := recordOf(got); *believe && !bytes.Equal(record, c.lastRead) {
		c.lastRead = record
		tell("read", sent, `,"u":%d,"record":%s,"version":%s`, now(), record, got.ResourceVersion)
	}
	return got, err
}

// recordOf is what client-go compares to find out whether a holder beats.
func recordOf(lease *coordination.Lease) []byte {
	text, err := json.Marshal(resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
	mustNot(err)
	return text
}

func (c *candidate) wouldTake(lease *coordination.Lease) error {
	tell("would-take", now(), `,"record":%s`, recordOf(lease))
	return errors.New("this candidate only says what it believes")
}

// wrote: a write that was sent at this instant has its answer.
func (c *candidate) wrote(sent int64, lease *coordination.Lease, err error) {
	if err != nil {
		tell("error", sent, `,"message":%q`, err.Error())
		return
	}
	answered := now()
	version, err := strconv.ParseInt(lease.ResourceVersion, 10, 64)
	mustNot(err)
	c.mutex.Lock()
	if c.token == 0 {
		c.token = version
	}
	token := c.token
	c.mutex.Unlock()
	if *lease.Spec.HolderIdentity == "" {
		atomic.StoreInt64(&c.mine.releasedAt, answered)
		tell("released", sent, `,"u":%d,"token":%d`, answered, token)
		return
	}
	atomic.StoreInt64(&c.mine.appliedAt, answered)
	tell("held", sent, `,"u":%d,"until":%d,"version":%d,"transitions":%d,"token":%d`, answered, sent+ownLease(), version,
		*lease.Spec.LeaseTransitions, token)
}

func ownLease() int64 { return lease.Truncate(time.Second).Nanoseconds() }
