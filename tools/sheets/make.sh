#!/bin/sh
# Writes the files of people in pkg/payout/sheet/testdata with LibreOffice Calc: one sheet of three rows, as a workbook and as
# CSV with the marks of four countries, and workbooks that must not be read as they look.
set -eu
out=$(cd "$(dirname "$0")/../../pkg/payout/sheet/testdata" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cell VALUE-TYPE ATTRIBUTES TEXT
text() { printf '<table:table-cell office:value-type="string" %s><text:p>%s</text:p></table:table-cell>' "${2-}" "$1"; }
money() { printf '<table:table-cell table:style-name="money" office:value-type="float" office:value="%s"/>' "$1"; }
row() { printf '<table:table-row %s>%s</table:table-row>\n' "${2-}" "$1"; }
person() { row "$(text "$1")$(text "$2")$(text "$3")$4$(text "")" "${5-}"; }

# book NAME LANGUAGE COUNTRY GROUPED ROWS
book() {
	cat >"$work/$1.fods" <<END
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"
 office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.spreadsheet">
<office:automatic-styles>
<number:number-style style:name="N" number:language="$2" number:country="$3"><number:number number:decimal-places="2" number:min-decimal-places="2" number:min-integer-digits="1" number:grouping="true"/></number:number-style>
<number:date-style style:name="D"><number:year number:style="long"/><number:text>-</number:text><number:month number:style="long"/><number:text>-</number:text><number:day number:style="long"/></number:date-style>
<style:style style:name="money" style:family="table-cell" style:data-style-name="N"/>
<style:style style:name="date" style:family="table-cell" style:data-style-name="D"/>
</office:automatic-styles>
<office:body><office:spreadsheet>$4<table:table table:name="May">
$(row "$(text "Freelancers, May")")
$(row "$(text "")")
$(row "$(text Name)$(text IBAN/address)$(text "Invoice no")$(text Amount)$(text "Cost centre")")
$5
$(row "$(text "")")
$(row "$(text Sum)$(text "")$(text "")$(money 4393.25)")
</table:table></office:spreadsheet></office:body></office:document>
END
}

people=$(person "Ann Müller" "DE89 3704 0044 0532 0130 00" INV-2026/118 "$(money 1980.5)"
	person "Bo Élan" "FR14 2004 1010 0505 0001 3M02 606" INV-2026/119 "$(money 2400)"
	person "Cy" GB29NWBK60161331926819 INV-2026/120 "$(money 12.75)")
convert() { soffice --headless -env:UserInstallation="file://$work/profile" --convert-to "$1" --outdir "$work" "$work/$2" >/dev/null 2>&1; }

# Filter options of CSV: separator, quote, character set (76: UTF-8, 1: windows-1252, 65535: UTF-16), first line, formats, language,
# quote all, as shown.
for c in "de DE 59,34,76" "en US 44,34,76" "fr FR 59,34,1" "ja JP 9,34,65535"; do
	set -- $c
	book "$1" "$1" "$2" "" "$people"
	convert "csv:Text - txt - csv (StarCalc):$3,1,,0,false,true" "$1.fods"
	cp "$work/$1.csv" "$out/$1.csv"
done
convert xlsx de.fods && cp "$work/de.xlsx" "$out/plain.xlsx"

broken() {
	book "$1" de DE "${3-}" "$2"
	convert xlsx "$1.fods"
	cp "$work/$1.xlsx" "$out/$1.xlsx"
}
first=$(person "Ann Müller" "DE89 3704 0044 0532 0130 00" INV-2026/118 "$(money 1980.5)")
one() { person Cy GB29NWBK60161331926819 INV-2026/120 "$1"; }
broken hidden "$first$(person Cy GB29NWBK60161331926819 INV-2026/120 "$(money 12.75)" 'table:visibility="collapse"')"
broken filtered "$first$(person Cy GB29NWBK60161331926819 INV-2026/120 "$(money 12.75)" 'table:visibility="filter"')"
broken merged "$first$(row "$(text Cy)$(text GB29NWBK60161331926819 'table:number-columns-spanned="2"')<table:covered-table-cell/>$(money 12.75)")"
broken date "$first$(one '<table:table-cell table:style-name="date" office:value-type="date" office:date-value="2026-05-01"/>')"
broken formula "$first$(one '<table:table-cell table:formula="of:=[.D4]*2" table:style-name="money" office:value-type="float" office:value="3961"/>')"
broken error "$first$(one '<table:table-cell table:formula="of:=1/0" office:value-type="string"/>')"
broken textnumber "$first$(one "$(text '12,75')")"
broken float "$first$(one '<table:table-cell office:value-type="float" office:value="0.1234567890123456"/>')"
broken scientific "$first$(person Cy 1.23457E+12 INV-2026/120 "$(money 12.75)")"
broken twosheets "$first" '<table:table table:name="Notes"><table:table-row><table:table-cell office:value-type="string"><text:p>Do not pay twice</text:p></table:table-cell></table:table-row></table:table>'
