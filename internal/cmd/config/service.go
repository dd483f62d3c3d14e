package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/spf13/cobra"
)

// ServiceCommand returns the service command.
func ServiceCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.Group("service", "Find out what the interface leaves open", serviceCheckCommand(a))
}

func serviceCheckCommand(a *cmdutil.App) *cobra.Command {
	var write bool
	cmd := cmdutil.NewCommand(a, cmdutil.List, findingView, &cobra.Command{
		Use:   "check",
		Short: "Find out what the service does where the interface is silent",
	}, func(s *cmdutil.Session, out cmdutil.Output[finding], _ []string) error {
		found, err := checkService(s)
		if err != nil {
			return err
		}
		if err := out.Slice(found); err != nil {
			return err
		}
		var settings []string
		for _, f := range found {
			if f.Setting != "" {
				settings = append(settings, f.Setting)
			}
		}
		return useSettings(a, s, settings, write)
	})
	cmd.Flags().BoolVar(&write, "write", false, "write the settings that it finds into the profile")
	return cmd
}

// useSettings writes settings into the profile in use, or notes how to.
func useSettings(a *cmdutil.App, s *cmdutil.Session, settings []string, write bool) error {
	switch {
	case len(settings) == 0:
		return s.Note("the profile %s needs no other settings for what was found", s.ProfileName())
	case s.Profile == "" || s.Profile == config.Sandbox:
		return s.Note("the settings belong into a profile, which till profile set makes: %s", strings.Join(settings, ", "))
	case !write:
		return s.NoteCommand(append([]string{"profile", "set", s.Profile}, settings...),
			"settings for the profile %s, which --write writes:", s.Profile)
	}
	err := edit(a, s.Cmd, func(d *config.Document) error { return d.SetProfile(s.Profile, settings...) })
	if err != nil {
		return err
	}
	return s.Note("written into the profile %s: %s", s.Profile, strings.Join(settings, ", "))
}

func findingView(money.Registry) render.View[finding] {
	type row = finding
	return render.ViewOf(func(r row) string { return r.Choice },
		render.Field("choice", "what the interface does not show", render.Own, func(r row) string { return r.Choice }),
		render.Field("found", "what the service does; empty if it cannot be told", render.Text,
			func(r row) string { return r.Found }),
		render.Field("why", "what shows it", render.Text, func(r row) string { return r.Why }),
		render.Field("setting", "setting to write into the profile", render.Own, func(r row) string { return r.Setting })).
		Extra("setting").Whole("why")
}

// resellers looks at the answers about resellers and invites. What the service refuses there does not fail,
// because a merchant's key may have no right to it.
func (p *probe) resellers() {
	all, err := p.client.Resellers.List(p.s.Ctx)
	if p.unread("resellers", err) {
		return
	}
	p.tell("resellers", strconv.Itoa(len(all)), "the number of resellers in their list")
	for _, step := range []func([]api.Reseller){p.rebates, p.invites, p.balances, p.invoices} {
		if len(all) > 0 && p.err == nil {
			step(all)
		}
	}
}

// unread reports whether a call failed. An answer of the service is told, and any other error ends the check.
func (p *probe) unread(choice string, err error) bool {
	if call, is := errors.AsType[*api.Error](err); is && call.Status != 0 && !call.RateLimited() {
		p.tell(choice, "", "%v", err)
	} else {
		p.err = err
	}
	return err != nil
}

// rebates says whether rebates of 0 are shown. They are not if one reseller lacks a currency of another.
func (p *probe) rebates(all []api.Reseller) {
	codes, zero := map[string]bool{}, false
	for _, r := range all {
		for _, rebate := range r.Rebates {
			codes[rebate.Code], zero = true, zero || rebate.Amount.Minor == 0
		}
	}
	switch {
	case zero:
		p.tell("zero_amounts", "show", "a reseller has a rebate of 0")
	case slices.ContainsFunc(all, func(r api.Reseller) bool { return len(r.Rebates) < len(codes) }):
		p.tell("zero_amounts", "omit", "a reseller has no rebate in a currency in which another has one")
	default:
		p.tell("zero_amounts", "", "all resellers have rebates in the same currencies")
	}
}

func (p *probe) invites(all []api.Reseller) {
	listed, err := p.client.Invites.List(p.s.Ctx)
	if p.unread("invites_listed", err) {
		return
	}
	for _, r := range all {
		if slices.ContainsFunc(listed, func(i api.Invite) bool { return r.InviteInfo.Invite == i.Invite }) {
			p.tell("invites_listed", "all", "the list of invites has one that a reseller has redeemed")
			return
		}
	}
	p.tell("invites_listed", "open", "the list of invites has none that a reseller has redeemed")
}

// balances looks at the first reseller's balances and, in the currency of a withdrawal, at one of them.
func (p *probe) balances(all []api.Reseller) {
	answer, err := p.client.Resellers.Balance(p.s.Ctx, all[0].ID)
	p.shape("balance_record", answer, err, "list", map[string]string{"crypto": "kind", "fiat": "kind"})
	if p.err != nil || len(p.rows) == 0 {
		return
	}
	code := p.rows[0].Currency.Code
	answer, err = p.client.Resellers.BalanceIn(p.s.Ctx, all[0].ID, code, "")
	p.shape("currency_balance", answer, err, "amounts", map[string]string{"balance": "record", strings.ToLower(code): "map"})
}

// invoices looks at the first reseller's list of invoices.
func (p *probe) invoices(all []api.Reseller) {
	answer, err := p.client.Resellers.Invoices(p.s.Ctx, all[0].ID, json.RawMessage(noFilter), p.first, 1)
	p.shape("invoice_list", answer, err, "array", map[string]string{"total": "page", "page_count": "page"})
}

// shape says whether an answer is an array, or else which object it is by a key in it, in lower case.
func (p *probe) shape(choice string, answer json.RawMessage, err error, array string, objects map[string]string) {
	if p.unread(choice, err) {
		return
	}
	if bytes.HasPrefix(answer, []byte("[")) {
		p.tell(choice, array, "the answer for the first reseller is an array")
		return
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil { // told below
		p.tell(choice, "", "the answer for the first reseller is neither an array nor an object")
		return
	}
	found := ""
	for key := range object {
		found = cmp.Or(found, objects[strings.ToLower(key)])
	}
	keys := strings.Join(slices.Sorted(maps.Keys(object)), ", ")
	p.tell(choice, found, "the answer for the first reseller is an object with: %s", keys)
}
