/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "guest/ssh-internal.h"

#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/text.h"

char *ssh_key_text(ssh_key key, GError **error)
{
    g_autofree char *text = NULL;
    char *base64 = NULL;

    if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "an SSH key has no public part");
        return NULL;
    }
    text = g_strdup_printf("%s %s", ssh_key_type_to_char(ssh_key_type(key)), base64);
    ssh_string_free_char(base64);
    return g_steal_pointer(&text);
}

ssh_key ssh_key_parse(const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \t\r\n", 3);
    enum ssh_keytypes_e type = SSH_KEYTYPE_UNKNOWN;
    ssh_key key = NULL;

    if (words[0] != NULL && words[1] != NULL)
        type = ssh_key_type_from_name(words[0]);
    if (type == SSH_KEYTYPE_UNKNOWN ||
        ssh_pki_import_pubkey_base64(words[1], type, &key) != SSH_OK) {
        g_autofree char *shown = text_escape(text, -1, 60);

        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "\"%s\" is not a public SSH key: it must look like \"ssh-ed25519 AAAA…\", one "
                    "line of a .pub file",
                    shown);
        return NULL;
    }
    return key;
}

ssh_key ssh_key_load(const char *path, GError **error)
{
    ssh_key key = NULL;

    if (access(path, R_OK) != 0) {
        g_set_error(error, VM_ERROR, VM_ERROR_ENVIRONMENT,
                    "%s: the SSH key cannot be read: no such file, or no permission", path);
        return NULL;
    }
    /* An empty passphrase, not NULL: with NULL OpenSSL asks on the terminal. */
    if (ssh_pki_import_privkey_file(path, "", NULL, NULL, &key) != SSH_OK) {
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID,
                    "%s: not a private SSH key without a passphrase (nobody is there to type one): "
                    "make one with ssh-keygen -t ed25519 -N \"\"",
                    path);
        return NULL;
    }
    return key;
}

char *ssh_public_key_of(const char *private_key_path, GError **error)
{
    char *text = NULL;
    ssh_key key = NULL;

    if (ssh_pki_import_pubkey_file(private_key_path, &key) != SSH_OK)
        key = ssh_key_load(private_key_path, error);
    if (key == NULL)
        return NULL;
    text = ssh_key_text(key, error);
    ssh_key_free(key);
    return text;
}

char *ssh_fingerprint(const char *public_key, GError **error)
{
    ssh_key key = ssh_key_parse(public_key, error);
    unsigned char *hash = NULL;
    char *text = NULL, *copy = NULL;
    size_t length;

    if (key == NULL)
        return NULL;
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &length) == SSH_OK)
        text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
    if (text != NULL)
        copy = g_strdup(text);
    else
        g_set_error(error, VM_ERROR, VM_ERROR_INVALID, "a public SSH key cannot be digested");
    ssh_string_free_char(text);
    ssh_clean_pubkey_hash(&hash);
    ssh_key_free(key);
    return copy;
}
