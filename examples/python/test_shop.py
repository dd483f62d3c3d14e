"""The tests of the shop. A sandbox plays the payment service while they run, so they need no network and no secret:

    till sandbox run -- python3 -m unittest discover -s examples/python
"""

import os
import unittest
import urllib.request

from shop import Lost, Refused, Service, Shop

ADDRESS = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"


class ShopTest(unittest.TestCase):
    def setUp(self):
        self.service = Service(os.environ["TILL_BASE_URL"], os.environ["TILL_API_KEY"])
        self.sandbox("POST", "/sandbox/reset", {})  # as at the start: no invoice, no fault, an empty log
        self.shop = Shop(self.service)
        self.addCleanup(self.shop.close)

    def sandbox(self, method, path, body=None):
        """Do what a customer, the service or a broken network would do."""
        return self.service.call(method, path, body)

    def received(self, method, path):
        """Return the bodies of the calls that reached the service."""
        log = self.sandbox("GET", "/sandbox/requests")
        return [call["body"] for call in log["requests"] if (call["method"], call["path"]) == (method, path)]

    def break_next(self, call, fault):
        self.sandbox("POST", "/sandbox/faults", {"on": call, "do": fault, "times": 1})


class Checkout(ShopTest):
    def test_the_invoice_has_the_order(self):
        self.shop.order(1001, 2950)
        [sent] = self.received("POST", "/api/invoice")
        self.assertEqual((sent["order_id"], sent["items"][0]["amount"]), ("1001", "2950"))

    def test_an_unpaid_order_waits(self):
        self.shop.order(1001, 2950)
        self.assertEqual(self.shop.settle(1001), "waiting")

    def test_a_customer_who_pays_on_the_page_comes_back_to_a_shipped_order(self):
        page = self.shop.order(1001, 2950)
        with urllib.request.urlopen(page) as answer:
            self.assertIn("Pay 29.50 USD", answer.read().decode())
        with urllib.request.urlopen(page + "/pay", data=b"") as answer:  # the button; redirects are followed
            self.assertEqual(answer.url, self.shop.own_address + "/thanks/1001")
            self.assertEqual(answer.read().decode(), "Order 1001: shipped")

    def test_an_expired_order_is_cancelled(self):
        self.shop.order(1001, 2950)
        self.sandbox("POST", "/sandbox/expire", {"invoice": self.shop.invoices[1001]})
        self.assertEqual(self.shop.settle(1001), "cancelled")

    def test_a_lost_answer_does_not_make_a_second_invoice(self):
        self.break_next("POST /api/invoice", "drop-after")
        for _ in range(2):
            with self.assertRaises(Lost):
                self.shop.order(1001, 2950)
        self.assertEqual(len(self.received("POST", "/api/invoice")), 1)

    def test_an_order_that_was_refused_may_be_corrected(self):
        with self.assertRaises(Refused):
            self.shop.order(1001, -1)
        self.shop.order(1001, 2950)


class Refunds(ShopTest):
    def test_a_refund_is_paid_once(self):
        first = self.shop.refund(7001, 15000, ADDRESS)
        self.assertEqual(self.shop.refund(7001, 15000, ADDRESS), first)
        self.assertEqual(len(self.received("POST", "/api/merchant_withdrawal/create")), 1)

    def test_after_a_lost_answer_the_refund_is_found_and_not_paid_again(self):
        self.break_next("POST /api/merchant_withdrawal/create", "drop-after")
        withdrawal = self.shop.refund(7001, 15000, ADDRESS)
        self.assertEqual(self.service.read("GET", "/api/merchant_withdrawal", id=withdrawal)["external_id"], 7001)
        self.assertEqual(len(self.received("POST", "/api/merchant_withdrawal/create")), 1)

    def test_a_refund_that_cannot_be_found_stays_unknown(self):
        self.break_next("POST /api/merchant_withdrawal/create", "drop-before")
        for _ in range(2):
            with self.assertRaises(Lost):
                self.shop.refund(7001, 15000, ADDRESS)
        self.assertEqual(len(self.received("POST", "/api/merchant_withdrawal/create")), 1)

    def test_reading_is_tried_again(self):
        self.shop.order(1001, 2950)
        self.break_next("GET /api/invoice", "status=503")
        self.assertEqual(self.shop.settle(1001), "waiting")
        self.assertEqual(len(self.received("GET", "/api/invoice")), 2)

    def test_the_customer_is_told_once_however_often_the_callback_comes(self):
        withdrawal = self.shop.refund(7001, 15000, ADDRESS)
        self.sandbox("POST", "/sandbox/advance", {"withdrawal": withdrawal, "status": "Processing"})
        last = self.sandbox("POST", "/sandbox/advance", {"withdrawal": withdrawal, "status": "Completed"})
        again = self.sandbox("POST", "/sandbox/callbacks/resend", {"id": last["delivery"]["id"]})
        self.assertEqual(again["state"], "delivered")
        self.assertEqual(self.shop.thanked, [7001])


if __name__ == "__main__":
    unittest.main()
