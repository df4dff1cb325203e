// How Go's net/url reads targets behind an authority, and as references: a target on each line, a line of JSON back. Its
// ServeMux cleans what is decoded.
package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"path"
)

// Bytes as Latin-1, as Python gives them.
func text(bytes string) *string {
	runes := make([]rune, len(bytes))
	for i := 0; i < len(bytes); i++ {
		runes[i] = rune(bytes[i])
	}
	text := string(runes)
	return &text
}

func main() {
	file, err := os.Open(os.Args[len(os.Args)-1])
	if err != nil {
		panic(err)
	}
	lines, out := bufio.NewScanner(file), json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		answer := map[string]*string{"host": text(""), "path": text("")}
		if read, err := url.Parse("http://x" + lines.Text()); err == nil {
			answer["host"], answer["path"] = text(read.Host), text(read.EscapedPath())
			answer["decoded"], answer["normalised"] = text(read.Path), text(path.Clean(read.Path))
		}
		if read, err := url.Parse(lines.Text()); err == nil {
			answer["resolved"] = text(read.EscapedPath())
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
