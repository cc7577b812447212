// A registry in memory, on a free port of loopback, whose address it prints; it ends with its stdin.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	log.Fatal(http.Serve(listener, registry.New(quiet, registry.WithReferrersSupport(true))))
}
