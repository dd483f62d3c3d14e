package address

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// TestDecodeBech32MatchesTheLibrary checks that decodeBech32 decodes what a library decodes: texts that the
// library encoded, and the same texts with a changed character, or with a changed case after the separator.
// Texts with more than one 1 are left out: for the library the last 1 is the separator, and here it is the
// first.
func TestDecodeBech32MatchesTheLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	right, wrong := 0, 0
	for range 20_000 {
		data := make([]byte, random.IntN(70))
		for i := range data {
			data[i] = byte(random.IntN(32))
		}
		prefix := []string{"bc", "tb", "bcrt", "ltc", "tltc"}[random.IntN(5)]
		encode := []func(string, []byte) (string, error){bech32.Encode, bech32.EncodeM}[random.IntN(2)]
		text, err := encode(prefix, data)
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(3) == 0 {
			text = strings.ToUpper(text)
		}
		for range random.IntN(3) {
			i := len(prefix) + 1 + random.IntN(len(text)-len(prefix)-1)
			c := []byte{byte(random.IntN(128)), text[i] ^ 0x20, bech32Charset[random.IntN(32)]}[random.IntN(3)]
			text = text[:i] + string(c) + text[i+1:]
		}
		if strings.Count(text, "1") != 1 {
			continue
		}
		_, want, version, err := bech32.DecodeGeneric(text)
		got, sum, err2 := decodeBech32(nil, text, len(prefix)+1)
		if (err2 == nil) != (err == nil) && err2 != errShort {
			t.Fatalf("%q: %v, and the library says %v", text, err2, err)
		}
		if err2 != nil {
			wrong++
			continue
		}
		right++
		if !bytes.Equal(got, want) || (sum == sumBech32) != (version == bech32.Version0) {
			t.Fatalf("%q is %v with the sum %#x, and the library has %v in version %d", text, got, sum, want, version)
		}
	}
	if right < 1000 || wrong < 1000 {
		t.Fatalf("%d were right and %d wrong, which is too few to say anything", right, wrong)
	}
}
