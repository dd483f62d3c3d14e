package address

import "strings"

// unmeant are addresses that exist and are never meant: money that is sent there is lost. They are in canonical
// form.
var unmeant = map[string]string{
	"0x0000000000000000000000000000000000000000":               nowhere,
	"0x0000000000000000000000000000000000000001":               nowhere,
	"0x000000000000000000000000000000000000dead":               nowhere,
	"0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee":               nowhere, // means ether where a contract wants a token
	"0xffffffffffffffffffffffffffffffffffffffff":               nowhere,
	"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb":                       nowhere,
	"1111111111111111111114oLvT2":                              nowhere,
	"1BitcoinEaterAddressDontSendf59kuE":                       nowhere,
	"rrrrrrrrrrrrrrrrrrrrrhoLvTp":                              nowhere,
	"rrrrrrrrrrrrrrrrrrrrBZbvji":                               nowhere,
	"11111111111111111111111111111111":                         nowhere, // Solana
	"GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF": nowhere,

	"0xdac17f958d2ee523a2206206994597c13d831ec7":               contract + "USDT on Ethereum",
	"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48":               contract + "USDC on Ethereum",
	"0x6b175474e89094c44da98b954eedeac495271d0f":               contract + "DAI on Ethereum",
	"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2":               contract + "WETH on Ethereum",
	"0x2260fac5e5542a773aa44fbcfedf7c193bc2c599":               contract + "WBTC on Ethereum",
	"0x55d398326f99059ff775485246999027b3197955":               contract + "USDT on BNB Smart Chain",
	"0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d":               contract + "USDC on BNB Smart Chain",
	"0xc2132d05d31c914a87c6611c10748aeb04b58e8f":               contract + "USDT on Polygon",
	"0x3c499c542cef5e3811e1192ce70d8cc03d5c3359":               contract + "USDC on Polygon",
	"0x2791bca1f2de4661ed88a30c99a7a9449aa84174":               contract + "bridged USDC on Polygon",
	"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB":             contract + "USDT on Solana",
	"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v":             contract + "USDC on Solana",
	"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t":                       contract + "USDT on TRON",
	"TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8":                       contract + "USDC on TRON",
	"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913":               contract + "USDC on Base",
	"0xaf88d065e77c8cc2239327c5edb3a432268e5831":               contract + "USDC on Arbitrum",
	"0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9":               contract + "USDT on Arbitrum",
	"0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7":               contract + "USDT on Avalanche",
	"GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN": token + "issuer of USDC on Stellar",
}

const (
	nowhere  = "it belongs to nobody, and what is sent there is lost: ask the receiver for the address"
	token    = "it is not the address of a receiver, but the "
	contract = token + "contract of "
)

// placeholders are what programs and people write where there is no address: words of fewer than ten letters.
const placeholders = " null none nil nan undefined 0 0x 0x0 (null) <null> false true pending tba tbd tbd. todo n/a na unknown missing empty - -- ? ??? xxx xxxx address "

// prefixes belong to the addresses of some currencies, and are no schemes of links.
const prefixes = " kaspa kaspatest bitcoincash bchtest bchreg simpleledger ecash ectest nexa nexatest etoken xdc karlsen devault alias "

// nameEnds are the last parts of names that stand for an address, and that only some wallets can look up.
const nameEnds = " eth sol bnb crypto nft "

// Unmeant says why a text is never meant as an address. It is empty if it may be.
func Unmeant(text string) string {
	why, dot := unmeant[Canonical(text)], strings.LastIndexByte(text, '.')
	switch {
	case strings.HasPrefix(why, token):
		return why + ": ask the receiver for the address"
	case why != "":
		return why
	case len(text) < 10 && !strings.ContainsAny(text, " \t") && strings.Contains(placeholders, " "+strings.ToLower(text)+" "):
		return "it stands for an address that is missing: ask the receiver for it"
	case dot > 0 && !strings.ContainsAny(text, " @:/") && strings.Contains(nameEnds, " "+strings.ToLower(text[dot+1:])+" "):
		return "it is a name, and no address: ask the receiver for the address"
	}
	return link(text)
}

// link says that a text is a link. It is empty if it is none. An address that somebody writes with a colon and a
// memo after it is longer than a scheme.
func link(text string) string {
	scheme, rest, found := strings.Cut(text, ":")
	if !found {
		return ""
	}
	switch kind := strings.ToLower(scheme); {
	case len(kind) > 20 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" ||
		kind == "" || kind[0] < 'a' || strings.Contains(prefixes, " "+kind+" "),
		strings.ContainsAny(rest, " \t") && len(rest) < 20:
		return ""
	case strings.HasPrefix(rest, "//") || strings.Contains(rest, "@"):
		return "it is a link, and no address: ask the receiver for the address"
	}
	return "it is a link of a wallet: take the address alone, from what follows " + scheme + ":, without ? and what follows that"
}
