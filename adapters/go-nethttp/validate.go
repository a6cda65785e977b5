package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-playground/validator/v10"
)

const bodyLimit = 64 << 10

// What may be missing and has no value that would be wrong is a pointer, so that `required` can tell.
type order struct {
	Customer *customer `json:"customer" validate:"required"`
	From     string    `json:"from" validate:"required,datetime=2006-01-02"`
	To       string    `json:"to" validate:"required,datetime=2006-01-02"`
	Currency string    `json:"currency" validate:"required,oneof=EUR USD GBP CZK"`
	Lines    []line    `json:"lines" validate:"required,min=1,max=20,dive"`
	Nonce    string    `json:"nonce" validate:"required,max=64"`
}

type customer struct {
	Email string `json:"email" validate:"required,email"`
}

type line struct {
	SKU      string `json:"sku" validate:"required,sku"`
	Quantity int    `json:"quantity" validate:"required,min=1,max=1000"`
	Price    *int   `json:"price" validate:"required,min=0,max=1000000"`
}

type validation struct{ rules *validator.Validate }

func newValidation() *validation {
	rules := validator.New(validator.WithRequiredStructEnabled())
	rules.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("json") })
	sku := regexp.MustCompile(`^[A-Z]{3}-[0-9]{4}$`)
	_ = rules.RegisterValidation("sku", func(field validator.FieldLevel) bool {
		return sku.MatchString(field.Field().String())
	})
	rules.RegisterStructValidation(toAfterFrom, order{})
	return &validation{rules}
}

// toAfterFrom is the rule over two fields, judged where there are two days to compare.
func toAfterFrom(level validator.StructLevel) {
	asked := level.Current().Interface().(order)
	from, wrongFrom := time.Parse(time.DateOnly, asked.From)
	to, wrongTo := time.Parse(time.DateOnly, asked.To)
	if wrongFrom == nil && wrongTo == nil && !to.After(from) {
		level.ReportError(asked.To, "to", "To", "after", "from")
	}
}

func (v *validation) judge(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	var asked order
	if err == nil {
		err = decode(body, &asked)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest)
		return
	}
	if wrong := v.wrong(&asked); len(wrong) > 0 {
		reply(w, http.StatusUnprocessableEntity, struct {
			Errors []string `json:"errors"`
		}{wrong})
		return
	}
	total := 0
	for _, line := range asked.Lines {
		total += line.Quantity * *line.Price
	}
	reply(w, http.StatusOK, struct {
		Total int    `json:"total"`
		Nonce string `json:"nonce"`
	}{total, asked.Nonce})
}

// wrong is the paths of what is against the rules, each once, sorted.
func (v *validation) wrong(asked *order) []string {
	var found validator.ValidationErrors
	if !errors.As(v.rules.Struct(asked), &found) {
		return nil
	}
	paths := map[string]bool{}
	for _, field := range found {
		_, path, _ := strings.Cut(field.Namespace(), ".")
		paths[strings.NewReplacer("[", ".", "]", "").Replace(path)] = true
	}
	return slices.Sorted(maps.Keys(paths))
}

// decode reads an order. encoding/json names only the first value of a wrong type, and leaves others as if they had been
// written as zero; so where there is one, all such values are taken out, and the order lacks them.
func decode(body []byte, into *order) error {
	err := json.Unmarshal(body, into)
	if wrong := new(json.UnmarshalTypeError); !errors.As(err, &wrong) {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	body, err = json.Marshal(fitting(value))
	if err != nil {
		return err
	}
	*into = order{}
	return json.Unmarshal(body, into)
}

// fitting is the order without what is not of its types.
func fitting(value any) map[string]any {
	order, _ := value.(map[string]any)
	keep[map[string]any](order, "customer")
	if customer, is := order["customer"].(map[string]any); is {
		keep[string](customer, "email")
	}
	for _, field := range []string{"from", "to", "currency", "nonce"} {
		keep[string](order, field)
	}
	keep[[]any](order, "lines")
	lines, _ := order["lines"].([]any)
	for _, value := range lines {
		line, is := value.(map[string]any)
		if !is {
			delete(order, "lines")
			break
		}
		keep[string](line, "sku")
		for _, field := range []string{"quantity", "price"} {
			keep[float64](line, field)
			if number, is := line[field].(float64); is && number != float64(int(number)) {
				delete(line, field)
			}
		}
	}
	return order
}

// keep takes a field out of an object unless it is a T.
func keep[T any](object map[string]any, field string) {
	if _, is := object[field].(T); !is {
		delete(object, field)
	}
}
