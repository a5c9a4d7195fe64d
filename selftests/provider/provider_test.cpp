// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * provider_test.cpp - the whole provider behind stock libibverbs, in front of a
 * kernel and an engine that the test plays itself (fake_uverbs, played_module).
 * Built with sanitizers.
 */
#include "played_module.h"

#include <sys/mman.h>
#include <unistd.h>

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

	REQUIRE(list);
	for (int i = 0; list[i]; i++) {
		std::string name = ibv_get_device_name(list[i]);

		REQUIRE(name != "foreign", "has no pavo_abi");
		REQUIRE(name != "newer", "has a version we do not know");
		if (name == "what-you-like") {
			found++;
			context = ibv_open_device(list[i]);
		}
	}
	REQUIRE_EQ(found, 1);
	REQUIRE(context, "errno ", errno);
	ibv_free_device_list(list);
	REQUIRE(pavodv_is_supported(context));
}

/* The device there is; nullptr with errno if it does not open. */
ibv_context *open_device()
{
	ibv_device **list = ibv_get_device_list(nullptr);
	ibv_context *opened = nullptr;
	int error = ENODEV;

	REQUIRE(list);
	for (int i = 0; list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), "what-you-like"))
			continue;
		opened = ibv_open_device(list[i]);
		error = errno;
	}
	ibv_free_device_list(list);
	errno = error;
	return opened;
}

/* The text that is written to stderr while @f runs, which throws nothing. */
template <class F> std::string said(F f)
{
	char text[512] = {};
	int file = memfd_create("stderr", 0), before = dup(2);

	REQUIRE(file >= 0 && before >= 0);
	dup2(file, 2);
	f();
	dup2(before, 2);
	close(before);
	REQUIRE(pread(file, text, sizeof(text) - 1, 0) >= 0);
	close(file);
	return text;
}

/*
 * The file in sysfs and the answer are of one module, unless it was replaced in
 * between. The shared page may look different then: it is not mapped.
 */
void test_other_version()
{
	for (uint32_t version : {0u, PAVO_ABI_VERSION + 1u, UINT32_MAX}) {
		ibv_context *opened = nullptr;
		int error = 0;

		engine.abi_version = version;

		std::string text = said([&] {
			opened = open_device();
			error = errno;
		});

		REQUIRE(!opened);
		REQUIRE_EQ(error, EPROTO);
		REQUIRE(text.find("version " + std::to_string(version) +
				  ", this provider knows " +
				  std::to_string(PAVO_ABI_VERSION)) !=
				std::string::npos,
			text);
	}
	engine.abi_version = PAVO_ABI_VERSION;

	ibv_context *opened = open_device();

	REQUIRE(opened, "errno ", errno);
	REQUIRE_EQ(ibv_close_device(opened), 0);
}

void test_close()
{
	REQUIRE_EQ(ibv_close_device(context), 0);
}

} // namespace

int main()
{
	Cases cases = {{"devices are known by pavo_abi alone", test_list},
		       {"a module of another version is refused",
			test_other_version}};
	fake::Kernel the_kernel({{.name = "what-you-like",
				  .pavo_abi = std::to_string(PAVO_ABI_VERSION)},
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
	add_direct_cases(cases);
	add_table_cases(cases);
	add_fork_cases(cases);
	cases.push_back({"closing", test_close});
	return common::run(cases);
}
