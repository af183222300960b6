// Says what client-go makes of kubeconfig files, and which proxy Go's HTTP client takes: the verdicts that
// tests/config/kubeconfig_cases.json and tests/net/proxy_cases.json keep. Run in the folder above:
//
//	go run ./kubeconfig ../../config/kubeconfig_cases.json ../../net/proxy_cases.json
//
// It writes each case's "client-go" or "go" anew; all else in the files stays.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type row = map[string]any

func text(of row, key string) string {
	value, _ := of[key].(string)
	return value
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Writes the files of a case; those with base64 are no UTF-8.
func lay(of row, directory string) {
	files, _ := of["files"].(row)
	for name, content := range files {
		bytes := []byte(content.(string))
		if encoded, is := strings.CutPrefix(content.(string), "base64:"); is {
			decoded, err := base64.StdEncoding.DecodeString(encoded)
			must(err)
			bytes = decoded
		}
		must(os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o700))
		must(os.WriteFile(filepath.Join(directory, name), bytes, 0o600))
	}
}

// Data and files as client-go shows them at the first connection.
func readFiles(config *rest.Config) error {
	for _, one := range []struct {
		data *[]byte
		file string
	}{{&config.CAData, config.CAFile}, {&config.CertData, config.CertFile}, {&config.KeyData, config.KeyFile}} {
		if len(*one.data) == 0 && one.file != "" {
			read, err := os.ReadFile(one.file)
			if err != nil {
				return err
			}
			*one.data = read
		}
	}
	return nil
}

func judged(of row, directory string) row {
	rules := &clientcmd.ClientConfigLoadingRules{}
	list := filepath.SplitList(text(of, "kubeconfig"))
	for _, file := range list {
		if file != "" && !filepath.IsAbs(file) {
			file = filepath.Join(directory, file)
		}
		rules.Precedence = append(rules.Precedence, file)
	}
	if len(list) == 1 {
		rules.ExplicitPath = rules.Precedence[0]
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: text(of, "context")}
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loading.ClientConfig()
	if err != nil {
		return row{"refused": strings.ReplaceAll(strings.Split(err.Error(), "\n")[0], directory+"/", "")}
	}
	namespace, _, err := loading.Namespace()
	must(err)
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return row{"refused": err.Error()}
	}
	if err := readFiles(config); err != nil {
		return row{"refused": strings.ReplaceAll(err.Error(), directory+"/", "")}
	}
	server.RawQuery, server.Fragment = "", "" // as rest.NewRESTClient does
	verdict := row{}
	add := func(key, value string) {
		if value != "" {
			verdict[key] = value
		}
	}
	add("server", server.String())
	add("namespace", namespace)
	add("tokenFile", strings.TrimPrefix(config.BearerTokenFile, directory+"/"))
	if config.BearerTokenFile == "" {
		add("token", config.BearerToken)
	}
	add("ca", string(config.CAData))
	add("certificate", string(config.CertData))
	add("key", string(config.KeyData))
	add("serverName", config.ServerName)
	if config.Proxy != nil {
		proxy, err := config.Proxy(nil)
		must(err)
		add("proxy", proxy.String())
	}
	for way, there := range map[string]bool{"insecure": config.Insecure, "exec": config.ExecProvider != nil,
		"provider": config.AuthProvider != nil, "password": config.Username != "",
		"impersonates": config.Impersonate.UserName != "" || config.Impersonate.UID != "" || len(config.Impersonate.Groups) > 0} {
		if there {
			verdict[way] = true
		}
	}
	return verdict
}

func judge(of row) {
	directory, err := os.MkdirTemp("", "kubeconfig")
	must(err)
	defer os.RemoveAll(directory)
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_MASTER", "HOME"} {
		os.Unsetenv(name)
	}
	lay(of, directory)
	of["client-go"] = judged(of, directory)
}

// "": straight; "refused": the variable is no URL of a proxy.
func proxyFor(of row) string {
	variables, _ := of["environment"].(row)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		os.Unsetenv(name)
		if value, is := variables[name].(string); is {
			must(os.Setenv(name, value))
		}
	}
	target, err := url.Parse(text(of, "url"))
	must(err)
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(target)
	if err != nil {
		return "refused"
	}
	if proxy == nil {
		return ""
	}
	return proxy.Scheme + "://" + proxy.Host
}

func main() {
	for _, file := range os.Args[1:] {
		before, err := os.ReadFile(file)
		must(err)
		var cases []row
		must(json.Unmarshal(before, &cases))
		for _, one := range cases {
			if _, is := one["url"]; is {
				one["go"] = proxyFor(one)
			} else {
				judge(one)
			}
		}
		var after bytes.Buffer
		encoder := json.NewEncoder(&after)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		must(encoder.Encode(cases))
		must(os.WriteFile(file, after.Bytes(), 0o644))
		fmt.Println(file, len(cases))
	}
}
