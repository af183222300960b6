// Follows who leads: go run follow.go http://127.0.0.1:9200/events
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	for last := ""; ; time.Sleep(time.Second) {
		request, _ := http.NewRequest("GET", os.Args[1], nil)
		request.Header.Set("Last-Event-ID", last)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "data":
				fmt.Println(value)
			case "id":
				last = value
			}
		}
		reply.Body.Close()
	}
}
