package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// slot is the Slot of bench/src/board.hpp.
type slot struct {
	pid, competing, elected, revoked, electedAt, token, appliedAt, releasedAt int64
	others                                                                    [5]int64
}

func openSlot() *slot {
	mine := &slot{}
	if *boardFile != "" {
		file, err := os.OpenFile(*boardFile, os.O_RDWR, 0)
		mustNot(err)
		size := int(unsafe.Sizeof(slot{})) * (*index + 1)
		page, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		mustNot(err)
		mine = (*slot)(unsafe.Pointer(&page[size-int(unsafe.Sizeof(slot{}))]))
	}
	atomic.StoreInt64(&mine.pid, int64(os.Getpid()))
	return mine
}

func (mine *slot) electedIn(token, at int64) {
	atomic.StoreInt64(&mine.electedAt, at)
	atomic.StoreInt64(&mine.token, token)
	atomic.AddInt64(&mine.elected, 1)
}
