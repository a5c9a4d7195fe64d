// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * exposition_test.cpp - the text format of Prometheus: what its documentation asks of names, labels
 * and escapes.
 */
#include <gtest/gtest.h>

#include "exposition.h"

namespace {

using namespace pavo;

TEST(Exposition, AMetricHasHelpTypeAndSamples)
{
	EXPECT_EQ(expose({{"pavo_rx_packets_total",
			   "packets",
			   "counter",
			   {{{{"device", "pavo0"}}, 7},
			    {{{"device", "pavo1"}, {"x", "y"}}, UINT64_MAX}}}}),
		  "# HELP pavo_rx_packets_total packets\n"
		  "# TYPE pavo_rx_packets_total counter\n"
		  "pavo_rx_packets_total{device=\"pavo0\"} 7\n"
		  "pavo_rx_packets_total{device=\"pavo1\",x=\"y\"} "
		  "18446744073709551615\n");
}

TEST(Exposition, ASampleNeedsNoLabels)
{
	EXPECT_EQ(expose({{"n", "h", "gauge", {{{}, 0}}}}),
		  "# HELP n h\n# TYPE n gauge\nn 0\n");
}

TEST(Exposition, AMetricWithoutSamplesIsLeftOut)
{
	EXPECT_EQ(expose({{"n", "h", "gauge", {}}}), "");
}

TEST(Exposition, QuotesBackslashesAndLineBreaksAreEscaped)
{
	EXPECT_EQ(expose({{"n",
			   "a\\b \"c\"\nd",
			   "gauge",
			   {{{{"l", "a\\b \"c\"\nd"}}, 1}}}}),
		  "# HELP n a\\\\b \"c\"\\nd\n# TYPE n gauge\n"
		  "n{l=\"a\\\\b \\\"c\\\"\\nd\"} 1\n");
}

} // namespace
