// Package explore explores all orders of events in small worlds. All of it is test code.
package explore
