// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bytes_test.cpp - one packet of every opcode (*_samples.h): built, its bytes must
 * come out; parsed, they must mean it.
 */
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "bytes_samples.h"
#include "ext_samples.h"
#include "window_samples.h"

namespace {

Bytes headers(const Sample &sample)
{
	std::string text = sample.headers;

	std::erase(text, '|');
	return from_hex(text);
}

std::vector<Sample> all_samples()
{
	std::vector<Sample> all(std::begin(samples), std::end(samples));

	for (const Sample &sample : samples)
		if (sample.name.starts_with("rc_"))
			all.push_back(xrc_sample(sample));
	all.insert(all.end(), std::begin(window_samples),
		   std::end(window_samples));
	all.insert(all.end(), std::begin(ext_samples), std::end(ext_samples));
	return all;
}

class EveryOpcode : public testing::TestWithParam<Sample> {};

TEST_P(EveryOpcode, IsBuiltAsWritten)
{
	EXPECT_EQ(to_hex(build(GetParam().pkt)), to_hex(headers(GetParam())));
}

TEST_P(EveryOpcode, IsParsedAsWritten)
{
	const Sample &sample = GetParam();
	Bytes udp = headers(sample);

	udp.resize(udp.size() + sample.payload + sample.pkt.pad +
		   PAVO_ICRC_LEN);
	Parsed parsed = parse(udp);

	ASSERT_EQ(parsed.status, PAVO_PARSE_OK);
	EXPECT_EQ(parsed.pkt.info, pavo_opcode_get_info(sample.pkt.opcode));
	EXPECT_EQ(parsed.pkt.payload, sample.payload);
	expect_same_fields(parsed.pkt, sample.pkt);
}

INSTANTIATE_TEST_SUITE_P(Bytes, EveryOpcode, testing::ValuesIn(all_samples()),
			 [](const testing::TestParamInfo<Sample> &info) {
				 return info.param.name;
			 });

TEST(Bytes, NoOpcodeWithoutASample)
{
	std::set<uint8_t> sampled;
	std::vector<uint8_t> known = known_opcodes();

	for (const Sample &sample : all_samples())
		sampled.insert(sample.pkt.opcode);
	EXPECT_EQ(sampled, std::set<uint8_t>(known.begin(), known.end()));
	EXPECT_EQ(all_samples().size(), sampled.size());
}

} // namespace
