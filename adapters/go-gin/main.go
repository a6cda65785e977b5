package main

import (
	"context"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"
)

// Gin routes HEAD only where it is told to.
var getOrHead = []string{http.MethodGet, http.MethodHead}

func main() {
	// gin.Default is this and a line of log for every request.
	router := gin.New()
	router.Use(gin.Recovery())

	router.Match(getOrHead, "/", func(c *gin.Context) {
		c.String(http.StatusOK, "ok")
	})
	router.Match(getOrHead, "/hello/:nonce", func(c *gin.Context) {
		c.JSON(http.StatusOK, gin.H{"hello": c.Param("nonce")})
	})

	// Servers that anybody can reach set these: by default a client may take for ever.
	server := &http.Server{
		Addr:              ":8080",
		Handler:           router,
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
