package main

import (
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// nanos is a quantity as a whole number of billionths.
func nanos(q *resource.Quantity) string {
	copied := q.DeepCopy()
	d := copied.AsDec()
	n := new(big.Int).Set(d.UnscaledBig())
	scale := int64(d.Scale())
	if scale <= 9 {
		n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(9-scale), nil))
	} else {
		n.Quo(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(scale-9), nil))
	}
	return n.String()
}

// render prints a value so that two values print alike exactly if they are alike.
func render(v ref.Val) string {
	switch v := v.(type) {
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u"
	case types.Double:
		return "double(" + strconv.FormatFloat(float64(v), 'e', -1, 64) + ")"
	case types.String:
		return quoted(string(v))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(v))
	case types.Duration:
		return fmt.Sprintf("duration(%d)", int64(v.Duration))
	case types.Timestamp:
		return "timestamp(" + v.Time.UTC().Format(time.RFC3339Nano) + ")"
	case types.Null:
		return "null"
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return "some(" + render(v.GetValue()) + ")"
	case *types.Type:
		return "type(" + v.TypeName() + ")"
	case apiservercel.IP:
		return "ip(" + v.Addr.String() + ")"
	case apiservercel.CIDR:
		return "cidr(" + v.Prefix.String() + ")"
	case apiservercel.URL:
		return "url(" + v.URL.String() + ")"
	case apiservercel.Quantity:
		return "quantity(" + nanos(v.Quantity) + ")"
	case *apiservercel.Quantity:
		return "quantity(" + nanos(v.Quantity) + ")"
	case apiservercel.Semver:
		return "semver(" + v.Version.String() + ")"
	case apiservercel.Format:
		return "format(" + v.Name + ")"
	case traits.Lister:
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, render(it.Next()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case traits.Mapper:
		var parts []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if key == nil {
				continue
			}
			parts = append(parts, render(key)+": "+render(v.Get(key)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.Err:
		return "error(" + v.Error() + ")"
	}
	return fmt.Sprintf("%T", v)
}
