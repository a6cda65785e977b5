package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

func ok(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok")
}

func hello(w http.ResponseWriter, r *http.Request) {
	reply(w, http.StatusOK, struct {
		Hello string `json:"hello"`
	}{r.PathValue("nonce")})
}

// reply writes a value as JSON.
func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		refuse(w, http.StatusInternalServerError)
		return
	}
	// With the length said, net/http does not fall back to chunks where a body is longer than its buffer.
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone
}

// refuse answers with a status and its name.
func refuse(w http.ResponseWriter, status int) {
	http.Error(w, http.StatusText(status), status)
}
