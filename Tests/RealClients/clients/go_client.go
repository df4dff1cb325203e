// Go's net/http against nginx, with a bearer token.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
)

var base = os.Getenv("BASE")

func check(what string, body func() error) {
	if err := body(); err != nil {
		fmt.Printf("FAILED  go: %s\n        %v\n", what, err)
		os.Exit(1)
	}
	fmt.Printf("ok      go: %s\n", what)
}

func ask(method, path string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequest(method, base+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	return io.ReadAll(answer.Body)
}

func main() {
	check("GET, with the credential added", func() error {
		var fields map[string]string
		text, err := ask("GET", "/live/fields", nil)
		if err == nil {
			err = json.Unmarshal(text, &fields)
		}
		if err == nil && !strings.HasPrefix(fields["authorization"], "Bearer ") {
			err = fmt.Errorf("no credential")
		}
		return err
	})

	check("POST, and the body back", func() error {
		text, err := ask("POST", "/live/x", strings.NewReader("a ü"))
		if err == nil && string(text) != "a ü" {
			err = fmt.Errorf("got %q", text)
		}
		return err
	})

	large := bytes.Repeat([]byte("go "), 7_000_000)
	check("21 MB up in chunks, and down again", func() error {
		// Not a type whose length net/http knows.
		if _, err := ask("PUT", "/files/go", io.MultiReader(bytes.NewReader(large))); err != nil {
			return err
		}
		text, err := ask("GET", "/files/go", nil)
		if err == nil && sha256.Sum256(text) != sha256.Sum256(large) {
			err = fmt.Errorf("%d other bytes", len(text))
		}
		return err
	})

	check("a connection is kept", func() error {
		reused := 0
		trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
			if got.Reused {
				reused++
			}
		}}
		for i := 0; i < 10; i++ {
			request, _ := http.NewRequest("POST", base+"/live/x", strings.NewReader("again"))
			answer, err := http.DefaultClient.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
			if err != nil {
				return err
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		if reused < 9 {
			return fmt.Errorf("reused %d times of 10", reused)
		}
		return nil
	})

	check("a redirect within the service is followed through bearerd", func() error {
		request, _ := http.NewRequest("GET", base+"/live/redirect?to=fields", nil)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != 200 || !strings.HasPrefix(answer.Request.URL.String(), base+"/live/") {
			return fmt.Errorf("status %d at %s", answer.StatusCode, answer.Request.URL)
		}
		return nil
	})

	check("one that leads elsewhere comes back, for the program to follow or not", func() error {
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err := client.Get(base + "/live/redirect?to=https://elsewhere.test/x")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if to := answer.Header.Get("Location"); answer.StatusCode != 302 || to != "https://elsewhere.test/x" {
			return fmt.Errorf("status %d to %s", answer.StatusCode, to)
		}
		return nil
	})
}
