// What Go's standard library serves with nothing on top of it.
package main

import (
	"context"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", ok)
	mux.HandleFunc("GET /hello/{nonce}", hello)
	mux.HandleFunc("GET /catalog", newCatalog().page)
	mux.HandleFunc("POST /validate", newValidation().judge)
	mux.HandleFunc("GET /upstream/{nonce}", newUpstream().ask)

	// Servers that anybody can reach set these: by default a client may take for ever.
	server := &http.Server{
		Addr:              ":8080",
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}

	stopped, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(ending) // what is not done by then is cut off
}
