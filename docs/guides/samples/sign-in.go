// Signs a token for one user and buys YES shares with it. Go 1.19 or newer, standard library only.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func fail(problem any) {
	fmt.Fprintln(os.Stderr, problem)
	os.Exit(1)
}

func userToken(user string, life time.Duration) string {
	part := func(value any) string {
		text, _ := json.Marshal(value)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	claims := map[string]any{"sub": user, "iat": now.Unix(), "exp": now.Add(life).Unix()}
	signed := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
	mac := hmac.New(sha256.New, []byte(os.Getenv("JWT_SECRET")))
	mac.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func call(method, path string, body any, headers map[string]string, answer any) {
	var data bytes.Buffer
	if body != nil {
		json.NewEncoder(&data).Encode(body)
	}
	request, err := http.NewRequest(method, env("PREDICT_URL", "http://127.0.0.1:8080")+path, &data)
	if err != nil {
		fail(err)
	}
	request.Header.Set("x-api-key", os.Getenv("PUBLIC_API_KEY"))
	request.Header.Set("content-type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		var problem struct{ Error string }
		json.NewDecoder(response.Body).Decode(&problem)
		code, id := response.Header.Get("Error-Code"), response.Header.Get("Request-Id")
		fail(fmt.Sprintf("%d %s: %s (%s)", response.StatusCode, code, problem.Error, id))
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		fail(err)
	}
}

func main() {
	user := "alice"
	if len(os.Args) > 1 {
		user = os.Args[1]
	}
	var markets []struct{ ID, CloseAt string }
	call("GET", "/v1/markets", nil, nil, &markets)
	// Of the first page, the one that trades longest.
	market := markets[0]
	for _, each := range markets {
		if each.CloseAt > market.CloseAt {
			market = each
		}
	}
	order := map[string]any{"marketId": market.ID, "selection": map[string]string{"side": "yes"}, "amount": 5}
	// One key for each purchase that a person asks for; a repeat sends the same key.
	key := make([]byte, 16)
	rand.Read(key)
	headers := map[string]string{"authorization": "Bearer " + userToken(user, 10*time.Minute), "idempotency-key": hex.EncodeToString(key)}
	// Numbers stay text: a double would round large sums.
	var trade struct {
		TradeID        string
		Shares, Amount json.Number
	}
	call("POST", "/v1/trade", order, headers, &trade)
	fmt.Printf("%s bought %s YES shares for $%s: %s\n", user, trade.Shares, trade.Amount, trade.TradeID)
}
