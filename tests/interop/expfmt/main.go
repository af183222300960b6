// Prometheus's own library for the texts of metrics: which one it gives to an Accept header, and what it reads in one.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The content types for a JSON list of headers, without the parameter that says how names are escaped.
func negotiate() (any, error) {
	var headers []string
	if err := json.NewDecoder(os.Stdin).Decode(&headers); err != nil {
		return nil, err
	}
	out := []string{}
	for _, accept := range headers {
		header := http.Header{"Accept": {accept}}
		if accept == "" {
			header = http.Header{}
		}
		chosen := expfmt.NegotiateAccept(header, expfmt.FmtText, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1)
		out = append(out, strings.SplitN(string(chosen), "; escaping=", 2)[0])
	}
	return out, nil
}

// The type and the number of series of each family in a text of format 0.0.4.
func read() (any, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(os.Stdin)
	if err != nil {
		return nil, err
	}
	out := map[string][2]any{}
	for name, family := range families {
		out[name] = [2]any{strings.ToLower(family.GetType().String()), len(family.GetMetric())}
	}
	return out, nil
}

func main() {
	work := map[string]func() (any, error){"negotiate": negotiate, "read": read}[os.Args[1]]
	answer, err := work()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(answer)
}
