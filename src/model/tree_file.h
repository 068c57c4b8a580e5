/* A tree as sections of the model file. */
#ifndef TRL_MODEL_TREE_FILE_H
#define TRL_MODEL_TREE_FILE_H

#include "base/container.h"
#include "model/tree.h"

int trl__tree_write(const trl__tree *tree, trl__container_writer *writer, trl_error *err);

/* For so many units. What is read is not checked beyond the sizes: trl__tree_check follows with trl__model_finish. */
int trl__tree_read(const trl__container *file, size_t units, trl__tree **out, trl_error *err);

#endif
