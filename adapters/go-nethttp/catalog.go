package main

import (
	"cmp"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
)

const pageSize = 20

type item struct {
	ID          int    `json:"id"`
	SKU         string `json:"sku"`
	Name        string `json:"name"`
	Category    string `json:"category"`
	Price       int    `json:"price"`
	Stock       int    `json:"stock"`
	Rating      int    `json:"rating"`
	Description string `json:"description"`
}

type catalog struct{ items []item }

func newCatalog() *catalog {
	text, err := os.ReadFile("data/catalog/items.json")
	if err != nil {
		log.Fatal(err)
	}
	var items []item
	if err := json.Unmarshal(text, &items); err != nil {
		log.Fatal(err)
	}
	return &catalog{items}
}

func (c *catalog) page(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	maxPrice, priced := positive(query, "max_price")
	page, paged := positive(query, "page")
	sorted := !query.Has("sort") || query.Get("sort") == "price"
	if !priced || !paged || !sorted || !query.Has("category") || !query.Has("nonce") {
		refuse(w, http.StatusBadRequest)
		return
	}

	category := query.Get("category")
	var found []*item
	for i := range c.items {
		if it := &c.items[i]; it.Category == category && it.Price <= maxPrice {
			found = append(found, it)
		}
	}
	slices.SortFunc(found, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(a.ID, b.ID))
	})

	shown := []*item{} // an empty slice is [], a nil one would be null
	if first := (page - 1) * pageSize; first < len(found) {
		shown = found[first:min(first+pageSize, len(found))]
	}
	reply(w, http.StatusOK, struct {
		Total int     `json:"total"`
		Page  int     `json:"page"`
		Items []*item `json:"items"`
		Nonce string  `json:"nonce"`
	}{len(found), page, shown, query.Get("nonce")})
}

// positive is the parameter as a number, and whether it is there and a positive integer. With 32 bits a page number can be
// multiplied.
func positive(query url.Values, name string) (int, bool) {
	number, err := strconv.ParseUint(query.Get(name), 10, 31)
	return int(number), err == nil && number > 0
}
