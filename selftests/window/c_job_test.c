// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_job_test.c - jobs and mappings of pavo.h: who is in, what is mapped, and for whom. */
#include <errno.h>
#include <stdlib.h>

#include "c_scene.h"

enum { ID = 4712, KEY = 43, PAGE = 4096, LIMIT = 2 * PAGE };

static struct pavo_job_info info_of(const struct pavo_job *job)
{
	struct pavo_job_info info;

	must(!pavo_job_info_of(job, &info), "pavo_job_info_of");
	return info;
}

static void reserve_and_join(struct pavo_device *device)
{
	struct pavo_job *job, *joined, *opened;
	struct pavo_job_info info;

	check(!pavo_job_join(device, ID, KEY) && errno == ENOENT,
	      "a job that is not there cannot be joined");
	job = pavo_job_reserve(device, ID, KEY, LIMIT);
	must(job != NULL, "pavo_job_reserve");
	check(!pavo_job_reserve(device, ID, KEY, LIMIT) && errno == EEXIST,
	      "one that is there cannot be reserved");
	check(!pavo_job_join(device, ID, KEY + 1) && errno == EACCES,
	      "nor joined by another key");
	joined = pavo_job_join(device, ID, KEY);
	opened = pavo_job_open(device, ID, KEY);
	must(joined && opened, "pavo_job_join");
	info = info_of(joined);
	check(info.id == ID && info.members == 3 && info.limit == LIMIT &&
		      !info.pinned && !info.mappings,
	      "what the job has");
	pavo_job_close(joined);
	pavo_job_close(opened);
	check(info_of(job).members == 1, "who has left is not in it");
	pavo_job_close(job);
	check(!pavo_job_join(device, ID, KEY) && errno == ENOENT,
	      "nobody is left"); /* lint-words: a name */
}

static void map_and_check(struct pavo_device *device,
			  const struct pavo_job *other)
{
	struct pavo_job *job = pavo_job_reserve(device, ID, KEY, LIMIT);
	struct pavo_mapping *one, *two;
	struct pavo_job_info info;
	void *memory = aligned_alloc(PAGE, LIMIT + PAGE);
	uint64_t pvo;

	must(job && memory, "pavo_job_reserve");
	check(!pavo_mapping_open(job, memory, LIMIT + PAGE) && errno == EDQUOT,
	      "more than the job's limit");
	one = pavo_mapping_open(job, memory, LIMIT);
	two = pavo_mapping_open(job, memory, LIMIT);
	must(one && two, "pavo_mapping_open");
	pvo = pavo_mapping_pvo(one);
	check(pvo == pavo_mapping_pvo(two) && !pavo_mapping_shared(one) &&
		      pavo_mapping_shared(two) == 1,
	      "what is mapped already is found");
	check(pavo_mapping_page_size(one) == PAGE, "pages of its table");
	info = info_of(job);
	check(info.pinned == LIMIT && info.buffers == 1 && info.mappings == 2 &&
		      info.shared == 1,
	      "and counted once");
	check(pavo_job_check(job, pvo, LIMIT) == PAVO_PVO_OK, "it may be used");
	check(pavo_job_check(job, pvo ^ 1ull << 60, LIMIT) == PAVO_PVO_KEY,
	      "not by a wrong key");
	check(pavo_job_check(other, pvo, LIMIT) == PAVO_PVO_JOB,
	      "nor by another job");
	pavo_mapping_close(two);
	pavo_mapping_close(one);
	check(pavo_job_check(job, pvo, LIMIT) == PAVO_PVO_KEY,
	      "nor when it is unmapped");
	pavo_job_close(job);
	free(memory);
}

void test_jobs(const struct end *end)
{
	reserve_and_join(end->device);
	map_and_check(end->device, end->job);
}
