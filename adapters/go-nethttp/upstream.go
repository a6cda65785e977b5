package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// As many connections at most as the other adapters keep.
const upstreamConnections = 64

type stock struct {
	Item  string `json:"item"`
	Stock int    `json:"stock"`
}

type upstream struct {
	base   string
	client *http.Client
}

func newUpstream() *upstream {
	base, set := os.LookupEnv("UPSTREAM_URL")
	if !set {
		base = "http://127.0.0.1:9000"
	}
	// The default keeps two idle connections a host, and opens any number.
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = upstreamConnections
	transport.MaxIdleConnsPerHost = upstreamConnections
	return &upstream{base, &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

func (u *upstream) ask(w http.ResponseWriter, r *http.Request) {
	nonce := r.PathValue("nonce")
	answer, err := u.item(r.Context(), nonce)
	if err != nil {
		refuse(w, http.StatusBadGateway)
		return
	}
	reply(w, http.StatusOK, struct {
		Nonce    string `json:"nonce"`
		Upstream stock  `json:"upstream"`
	}{nonce, answer})
}

func (u *upstream) item(ctx context.Context, name string) (answer stock, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+"/item/"+url.PathEscape(name), nil)
	if err != nil {
		return answer, err
	}
	response, err := u.client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	// Read to its end, or the connection is not used again.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer, err
	}
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("status %d", response.StatusCode)
	}
	err = json.Unmarshal(body, &answer)
	return answer, err
}
