// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * provider_test.cpp - the whole provider behind stock libibverbs, in front of a
 * kernel and an engine that the test plays itself (fake_uverbs, played_module).
 * Built with sanitizers.
 */
#include "played_module.h"

#include "abi.h"

namespace {

/* ------------------------------------------------------ another provider */

/*
 * Stands before ours and gives a device the driver id that netlink would have
 * told for one of a driver in the kernel's list. libibverbs then walks the
 * match tables of all providers for that id.
 */
bool give_driver_id(verbs_sysfs_dev *sysfs)
{
	if (!strcmp(sysfs->ibdev_name, "foreign"))
		sysfs->driver_id = 4242;
	return false;
}

const verbs_match_ent no_match[] = {{}};
const verbs_device_ops stranger = {
	.name = "stranger",
	.match_min_abi_version = 0,
	.match_max_abi_version = 100,
	.match_table = no_match,
	.static_providers = nullptr,
	.match_device = give_driver_id,
	.alloc_context = nullptr,
	.import_context = nullptr,
	.alloc_device = nullptr,
	.uninit_device = nullptr,
};

/* -------------------------------------------------------------- the cases */

void test_list()
{
	ibv_device **list = ibv_get_device_list(nullptr);
	int found = 0;

	CHECK(list);
	for (int i = 0; list[i]; i++) {
		std::string name = ibv_get_device_name(list[i]);

		CHECK(name != "foreign", "has no pavo_abi");
		CHECK(name != "newer", "has a version we do not know");
		if (name == "what-you-like") {
			found++;
			context = ibv_open_device(list[i]);
		}
	}
	CHECK_EQ(found, 1);
	CHECK(context, "errno ", errno);
	ibv_free_device_list(list);
	CHECK(pavodv_is_supported(context));
}

void test_close()
{
	CHECK_EQ(ibv_close_device(context), 0);
}

} // namespace

int main()
{
	Cases cases = {{"devices are known by pavo_abi alone", test_list}};
	fake::Kernel the_kernel({{.name = "what-you-like", .pavo_abi = "1"},
				 {.name = "newer", .pavo_abi = "99"},
				 {.name = "foreign", .pavo_abi = ""}});

	kernel = &the_kernel;
	/* No other copy of a provider than the one built in here. */
	unsetenv("IBV_DRIVERS");
	unsetenv("RDMAV_DRIVERS");
	kernel->handler = serve;
	kernel->on_write = on_write;
	engine.page = kernel->make_region(sizeof(pavo_doorbell_page));
	pavo_verbs_register_driver(&stranger);
	add_post_cases(cases);
	add_poll_cases(cases);
	add_object_cases(cases);
	cases.push_back({"closing", test_close});
	return tap::run(cases);
}
