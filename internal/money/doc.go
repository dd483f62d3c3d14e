// Package money knows currencies and reads and prints amounts exactly. No float comes near an amount here.
//
// # Currencies
//
// A [Registry] knows, for each code, whether it is a crypto or a fiat currency, how many decimals it has, and whether a
// withdrawal of it needs a memo. The built-in one, [NewRegistry], holds the active fiat currencies with the decimals of
// ISO 4217, and the three crypto currencies that the service's interface names. The decimals of a crypto currency are
// the service's own choice and shown nowhere, so they are unknown until [Registry.With] is told them.
//
// Case does not matter when a code is read. The service writes a fiat code as Usd in a currency and as USD in an
// amount; parsing gives each the spelling it needs. A code that the registry does not know is written with its kind, as
// crypto:CODE or fiat:CODE, and counts in minor units only.
//
// # Amounts
//
// An amount is a whole number of minor units in 64 bits. [Registry.ParseAmount] reads decimals ("25.00 USD", "0.015 Btc")
// and [Registry.ParseMinor] reads the whole number itself ("2500 USD"). Both take the number, one space and a code, or
// the number alone, which then counts in the withdrawn currency. There is one way to write each digit: no signs,
// exponents, separators, leading zeros, spare decimals or spare spaces; and no zero.
//
// An amount of a withdrawal is in the currency that is withdrawn or in a fiat currency, whose equivalent the service
// then pays. So a crypto amount in another crypto currency is refused, and so is any crypto amount where a fiat currency
// is withdrawn.
//
// [Registry.Format] is the way back: "25.00 USD", or "1500000 minor Btc" where the decimals are unknown.
//
// # Limits
//
// [Limits] are a profile's own guard: the most that one withdrawal and one run may come to, and the addresses that may
// be paid at all.
//
// # Errors
//
// An [*Error] is a sentence that says what is wrong with a text and what to write instead; its Hint, where it has one, is
// a command that helps. A [*LimitError] is a limit's refusal.
package money
