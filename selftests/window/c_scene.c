// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_scene.c - see c_scene.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/tap.h"
#include "c_scene.h"

static struct tap tap;

void check(int good, const char *what)
{
	tap_result(&tap, good, what);
}

void must(int good, const char *what)
{
	if (good)
		return;
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

int end_checks(void)
{
	printf("1..%zu\n", tap_next(&tap) - 1);
	return tap_end(&tap);
}

int64_t microseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void read_gid(const char *adapter, const char *index, uint8_t *gid)
{
	unsigned int part[8];
	char path[200];
	FILE *file;
	int i;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%s",
		 adapter, index);
	file = fopen(path, "r");
	must(file != NULL, path);
	must(fscanf(file, "%x:%x:%x:%x:%x:%x:%x:%x", &part[0], &part[1],
		    &part[2], &part[3], &part[4], &part[5], &part[6],
		    &part[7]) == 8,
	     path);
	fclose(file);
	for (i = 0; i < 8; i++) {
		gid[2 * i] = (uint8_t)(part[i] >> 8);
		gid[2 * i + 1] = (uint8_t)part[i];
	}
}

struct pavo_window *open_window(const struct end *end, uint16_t node)
{
	const struct pavo_window_options options = {
		.node = node,
		.gid_index = end->gid_index,
	};
	struct pavo_window *window = pavo_window_open(end->job, &options);

	must(window != NULL, "pavo_window_open");
	return window;
}

void open_adapter(struct end *end, const char *adapter, const char *index)
{
	end->gid_index = (uint16_t)atoi(index);
	read_gid(adapter, index, end->gid);
	end->device = pavo_device_open(adapter);
	must(end->device != NULL, "pavo_device_open");
	end->job = pavo_job_open(end->device, 4711, 42);
	must(end->job != NULL, "pavo_job_open");
	end->memory = malloc(SIZE);
	must(end->memory != NULL, "malloc");
	end->mapping = pavo_mapping_open(end->job, end->memory, SIZE);
	must(end->mapping != NULL, "pavo_mapping_open");
}

void close_adapter(struct end *end)
{
	pavo_mapping_close(end->mapping);
	pavo_job_close(end->job);
	pavo_device_close(end->device);
	free(end->memory);
}
