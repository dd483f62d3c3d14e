// Package powercut has the tests of power cuts.
package powercut
