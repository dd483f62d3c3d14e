// Package money knows currencies and reads and prints amounts exactly. It does not use floating point.
//
// # Currencies
//
// A [Registry] knows, for each code, whether it is a crypto or a fiat currency, how many decimals it has, and
// whether a withdrawal of it needs a memo. The built-in one, [NewRegistry], holds the active fiat currencies
// with the decimals of ISO 4217 if payment services agree on them, and the three crypto currencies that the
// service's interface names. The service chooses the decimals of a crypto currency and shows them nowhere, so
// they are unknown until [Registry.With] sets them.
//
// Codes are read without regard to case. The service writes a fiat code as Usd in a currency and as USD in an
// amount; parsing gives each its spelling. A code that the registry does not know is written with its kind,
// as crypto:CODE or fiat:CODE, and its amounts are in minor units only.
//
// # Amounts
//
// An amount is a whole number of minor units in 64 bits. [Registry.ParseAmount] reads decimals ("25.00 USD",
// "0.015 Btc") and [Registry.ParseMinor] reads the whole number itself ("2500 USD"). Both take the number,
// one space and a code, or the number alone, which is then in the withdrawn currency. They do not accept
// signs, exponents, separators, leading zeros, too many decimals, extra spaces, or zero.
//
// The amount of a withdrawal is in the withdrawn currency or in a fiat currency, whose equivalent the service
// then pays. So a crypto amount must be in the withdrawn currency.
//
// [Registry.Format] does the reverse: "25.00 USD", or "1500000 minor Btc" if the decimals are unknown.
package money
